/* help.js - what a reader asks who sees such a page for the first time, answered with the numbers of
 * the run. */

/* What each look means, in one sentence. */
const MEANINGS = {
  'compute.forward': 'a micro-batch goes through the layers of this stage',
  'compute.backward': 'gradients of its inputs and of its weights, one after the other',
  'compute.dgrad': 'dgrad, the half of a backward that the stage before waits for: gradients of the inputs',
  'compute.wgrad': 'wgrad, the half of a backward that only the optimizer waits for, so it can fill gaps: gradients of the weights',
  'compute.recompute': 'a forward done again before the backward, because its activations were not kept',
  'optimizer': 'weights are updated, once a step',
  'comm.tp': 'collectives among GPUs that share every layer',
  'comm.dp': 'gradients or weights among GPUs that work on different data',
  'comm.pp': 'activations to the next stage, gradients to the one before',
  'comm.cp': 'pieces of the sequence among GPUs that share it',
  'comm.ep': 'tokens to the experts and back',
  'offload': 'states on their way between the GPU, the memory of its node and NVMe',
  'host': 'the processors of the node update parameters',
  'deadlock': 'it waits for something that never comes',
};

function meaningOf(key) {
  return MEANINGS[key] || (IDLE[key] ? `nothing to compute: ${IDLE[key][1]}` : '');
}

function colourList(runs) {
  const list = el('ul', {class: 'meanings'});
  looksOf(runs).forEach((key) => list.append(el('li', {}, swatch(key), el('span', {}, el('b', {}, LOOKS[key][0]), ` \u2013 ${meaningOf(key)}.`))));
  if (runs.some((run) => run.chunks > 1)) {
    list.append(el('li', {}, el('i', {style: `background:${colours.ofChunk('compute.forward', 1)}`, 'aria-hidden': 'true'}),
      el('span', {}, el('b', {}, 'Lighter'), ' \u2013 the same on a later chunk: a GPU holds several parts of the model.')));
  }
  return list;
}

function aboutRows(run) {
  const alone = new Set(run.rows.map((row) => row.stage)).size === run.rows.length;
  return `Time runs to the right. Each row is one GPU${alone && run.pipeline > 1 ? ', the first of its pipeline stage' : ''}. Its boxes are forward and backward passes: ` +
    'the number is the micro-batch. Thin lanes below show its communication, and below them its memory. ' +
    `${run.rows.length} of ${run.ranks} GPUs are shown; the figures cover all of them.`;
}

/* Why backwards are longer. */
function aboutBackward(run) {
  const f = run.formula, times = (f.backward_s / f.forward_s).toFixed(2);
  const again = run.figures.breakdown.recompute > 0 ? ' Here recomputation repeats the forward pass to save memory, which makes three.' : '';
  return [`Why does a backward take ${times} times as long as a forward?`,
    'A forward multiplies inputs by weights. A backward does two multiplications of that size: one for the gradient of the inputs, one for the gradient of the ' +
    `weights.${again} Here a forward takes ${secs(f.forward_s)}, a backward ${secs(f.backward_s)} on average, waiting inside them included. Other kernels make the rest of the difference.`];
}

function aboutHeld(run) {
  const rows = run.rows.filter((row) => row.tp === 0 && row.dp === 0 && row.cp === 0);
  return ['Why do stages need different amounts of memory?',
    'Activations of a forward are kept until its backward has used them. The schedule decides how many micro-batches a stage holds at its peak: ' +
    `${rows.slice(0, 16).map((row) => `stage ${row.stage} holds ${row.peak_held}`).join(', ')}${run.chunks > 1 ? ' (once for each chunk they are in)' : ''}. Weights, gradients and optimizer state stay all the time; ` +
    'the first stage has the embedding, the last one the logits in addition.'];
}

function aboutBubble(run) {
  const f = formulaShare(run), simple = f && simpleShare(run, f);
  const more = simple ? ` With twice the micro-batches the formula says ${share((run.pipeline - 1) / (2 * run.micro_batches * run.chunks + run.pipeline - 1))} instead of ${share(f.share)}.` : '';
  const cause = run.schedules && isUneven(run) ? unevenWords(run) :
    `Some stages are idle while the first micro-batch passes down the stages and while the last gradient passes back. With more micro-batches in a step this share falls.${more}`;
  return ['How can the bubble become smaller?',
    `${cause} Other schedules change the order of the work. The section \u201cWhat would another schedule do?\u201d below simulates each of them on this job.`];
}

function aboutMfu(run) {
  return [`What is MFU, and why is it ${share(run.figures.mfu)}?`,
    `The FLOPs that the model needs, over those that the GPUs could do at their peak in the same time. GPUs compute for ${share(1 - idleShare(run))} of the step. ` +
    'Kernels do not reach the peak, and the FLOPs of the optimizer and of recomputation do not count.'];
}

/* [question, answer or node]... of what is on this page. */
function questionsOf(runs) {
  const run = runs[0], out = [['What are the rows and boxes?', aboutRows(run)], ['What do the colours mean?', colourList(runs)]];
  if (run.figures && run.formula) {
    out.push(aboutBackward(run));
    if (run.pipeline > 1) { out.push(aboutBubble(run), aboutHeld(run)); }
    out.push(aboutMfu(run));
  }
  out.push(['What is the critical path?', 'The chain of work and messages that sets the run time: each part waited for the one before. ' +
    'Only a faster part of this chain makes the run faster, until another chain becomes the longest.']);
  return out;
}

function helpOf(runs) {
  return el('div', {class: 'help'}, ...questionsOf(runs).map(([question, answer]) =>
    el('details', {}, el('summary', {}, question), typeof answer === 'string' ? el('p', {}, answer) : answer)));
}
