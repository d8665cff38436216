/* training.js - the weeks around a step, of run files that have a section `fleet`. */

const LOSSES = {checkpoints: 'checkpoints', lost_work: 'lost work', detect: 'detect', restart: 'restart', spares: 'spares',
  replicas: 'replicas', planned: 'planned',
  slow_hosts: 'slow hosts', drift: 'drifting launches'};

function lossesTable(fleet, name) {
  const played = fleet.monte_carlo, parts = Object.keys(fleet.loss).filter((key) => fleet.loss[key] > 0 || played.loss[key] > 0);
  return table(`Where the weeks go${name}`, `closed form, and ${played.runs} simulated trainings of ${played.days} days`,
    ['', 'closed form', 'played'], [
      {cells: ['goodput', share(fleet.goodput), `${share(played.goodput)} \u00b1 ${share(played.standard_error)}`]},
      ...parts.map((key) => ({cells: [LOSSES[key] || key, share(fleet.loss[key]), share(played.loss[key])]}))]);
}

function worthTable(fleet, name) {
  return table(`What improvements are worth${name}`, 'in closed form, each alone', ['', 'goodput', 'change'],
    fleet.worth.map((change) => ({cells: [change.what, share(change.goodput), signedShare(change.goodput - fleet.goodput)]})));
}

function trainingCard(card, runs) {
  const known = runs.map((run, r) => [run.fleet && JSON.parse(run.fleet.report), run, nameOf(runs, r)]).filter(([fleet]) => fleet);
  card.hidden = known.length === 0;
  card.replaceChildren(el('h2', {id: 'h-training'}, 'The training: days and losses'), ...known.flatMap(([fleet, run, name]) => [
    el('p', {class: 'lead'}, `${name}Of all time ${share(fleet.goodput)} is progress that stays, at ${share(fleet.goodput_mfu)} MFU; ` +
      (fleet.mtbf_s ? `a failure every ${(fleet.mtbf_s / 3600).toPrecision(3)} h.` : 'nothing fails.')),
    el('img', {class: 'picture', alt: 'Days of the training by what the job does, goodput over checkpoint interval and over the number of GPUs; the tables have the numbers.',
      src: 'data:image/svg+xml;charset=utf-8,' + encodeURIComponent(run.fleet.svg)}),
    el('div', {class: 'tables'}, lossesTable(fleet, name), fleet.worth.length > 0 ? worthTable(fleet, name) : null)]));
}
