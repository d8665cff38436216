/* ranks.js - which rank is where: nodes as boxes, GPUs as cells, coloured by pipeline stage. */

const SHORT_AXES = {tensor: 't', context: 'c', data: 'd', pipeline: 'p', expert: 'e', expert_tensor: 'et', expert_data: 'ed'};

/* Hues that step round the circle, so that neighbouring stages differ. */
function stageColour(stage, stages) {
  return `hsl(${Math.round(360 * stage / stages)} 60% ${stage % 2 ? 76 : 84}%)`;
}

function rankCell(rank, axes, stages) {
  const inside = axes.filter((a) => a.axis !== 'pipeline').map((a) => SHORT_AXES[a.axis] + rank[a.axis]).join(' ');
  const title = axes.map((a) => `${a.axis.replace('_', ' ')}: place ${rank[a.axis]} of ${a.size}` +
    (rank[a.axis + '_group'] === null ? '' : `, group ${rank[a.axis + '_group']}`));
  return el('div', {class: 'seat', style: `background:${stageColour(rank.pipeline, stages)}`,
    title: [`rank ${rank.rank}, node ${rank.node}, GPU ${rank.gpu}`, ...title].join('\n')}, el('b', {}, String(rank.rank)), inside);
}

function nodeBox(node, ranks, axes, stages) {
  return el('figure', {class: 'node'}, el('figcaption', {}, `node ${node}`), el('div', {class: 'seats'}, ...ranks.map((rank) => rankCell(rank, axes, stages))));
}

/* What the picture leaves out, and where it is. */
function replicaWords(places, shown, total) {
  const data = places.axes.find((a) => a.axis === 'data').size;
  const away = places.ranks.map((r) => r.data).includes(1) ? '' : ' on other nodes';
  return shown === total ? `All ${total} nodes.` : `${shown} of ${total} nodes, those of data rank 0; the other ${data - 1} data-parallel replicas repeat them${away}.`;
}

function placesOf(run, name) {
  const places = run.places, axes = places.axes.filter((a) => a.size > 1), stages = places.axes.find((a) => a.axis === 'pipeline').size;
  const nodes = places.ranks.reduce((all, r) => all.set(r.node, [...(all.get(r.node) || []), r]), new Map());
  return [el('p', {class: 'lead'}, `${name}${replicaWords(places, nodes.size, places.nodes)} The colour is the pipeline stage; point at a GPU for its groups. `,
    axes.map((a) => `${a.axis.replace('_', ' ')} (${SHORT_AXES[a.axis]}): ${a.groups} groups of ${a.size}, each on ${a.nodes} ${a.nodes === 1 ? 'node' : 'nodes'}`).join('; ')),
  el('div', {class: 'key'}, ...Array.from({length: stages}, (_, s) => el('span', {}, el('i', {style: `background:${stageColour(s, stages)}`}), `stage ${s}`))),
  el('div', {class: 'nodes', tabindex: 0, role: 'region', 'aria-label': `${name}nodes and their GPUs`}, ...[...nodes].map(([node, ranks]) => nodeBox(node, ranks, axes, stages)))];
}

function placesCard(card, runs) {
  card.replaceChildren(el('h2', {id: 'h-places'}, 'Which rank is where'), ...runs.flatMap((run, r) => placesOf(run, nameOf(runs, r))));
}
