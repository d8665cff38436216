/* page.js - opens the core, shows the room that the address names, keeps the address. */

const ROOMS = {schedules: ['Schedules', ScheduleRoom], model: ['Whole model', ModelRoom], lessons: ['Lessons', LessonsRoom]};
const roomNode = document.getElementById('room');
let shownAddress = null;

function names(text) {
  return text.split('\n').filter((line) => /^\S/.test(line)).map((line) => line.split(/\s/)[0]);
}

async function start() {
  const data = JSON.parse(document.getElementById('data').textContent);
  const core = await openCore(await unpackCore(data.core), document.getElementById('host').textContent);
  const lists = await Promise.all(['schedules', 'clusters', 'models'].map((what) => core.call('list', {what})));
  [core.schedules, core.clusters, core.models] = lists.map((reply) => names(reply.text));
  document.getElementById('foot').textContent = `trainyard ${data.version}, the simulator itself as WebAssembly: what it says here it says on the command line.`;
  return {core, data};
}

/* The address changes without a step of the browser's history for every slider. */
function keep(state) {
  shownAddress = writeAddress(state);
  history.replaceState(null, '', '#' + shownAddress);
}

function open(core, state) {
  const room = roomOf(state), tabs = document.getElementById('rooms');
  tip.hide();
  tabs.replaceChildren(...Object.entries(ROOMS).map(([name, [words]]) => el('button', {type: 'button', role: 'tab', 'aria-selected': String(name === room), 'aria-controls': 'room',
    onclick: () => { location.hash = {schedules: 'schedule=1f1b&p=4&m=8', model: writeAddress(MODEL_DEFAULTS), lessons: 'lesson=1'}[name]; }}, words)));
  roomNode.replaceChildren(new ROOMS[room][1](core, state, keep).node);
}

document.getElementById('b-link').addEventListener('click', async (event) => {
  const button = event.target;
  try {
    await navigator.clipboard.writeText(location.href);
    button.textContent = 'Copied';
  } catch {
    prompt('The link', location.href);
  }
  setTimeout(() => { button.textContent = 'Copy link'; }, 1500);
});

start().then(({core, data}) => {
  const show = () => {
    const address = location.hash.replace(/^#/, '');
    if (address !== shownAddress) {
      shownAddress = address;
      open(core, readAddress(address || data.state));
    }
  };
  addEventListener('hashchange', show);
  show();
  document.body.dataset.ready = 'true';
}, (error) => {
  roomNode.replaceChildren(el('div', {class: 'trouble', role: 'alert'}, `The simulator could not be started: ${error.message}`));
});
