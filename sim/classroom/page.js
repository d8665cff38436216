/* page.js - opens the core, then the room that the address names. */

const ROOMS = [['schedule', 'Schedules'], ['model', 'A model'], ['lessons', 'Lessons']];

const page = {rooms: {}, room: null, live: null};

/* Shows one room; in a lesson there is also the one that is live, inside it. */
function enter(name, pairs) {
  page.room = name;
  page.live = name;
  $('home').append($('schedule'), $('model'));
  $('lessons').hidden = name !== 'lessons';
  $('schedule').hidden = name !== 'schedule';
  $('model').hidden = name !== 'model';
  $('rooms').querySelectorAll('a').forEach((link) => {
    if (link.dataset.room === name) { link.setAttribute('aria-current', 'page'); } else { link.removeAttribute('aria-current'); }
  });
  page.rooms[name].open(pairs);
}

/* A room in a lesson: at `place`, with the state of a widget. */
function showLive(state, place) {
  const pairs = pairsOf(state), name = roomOf(pairs), element = $(name);
  $('schedule').hidden = $('model').hidden = true;
  place.append(element);
  element.hidden = false;
  page.live = name;
  page.rooms[name].open(pairs);
}

/* After every change of a room. */
function changed(words) {
  $('foot').textContent = `${words} trainyard ${page.version} runs inside this page. It loads nothing and sends nothing.`;
  if (page.room !== 'lessons') {
    address.keep(() => page.rooms[page.room].address(), tellLength);
  }
}

function tellLength(whole) {
  $('long').hidden = whole;
  $('long').textContent = whole ? '' : 'This order is too long for a link: the page opens without it. '
    + 'Export saves it as a run file with all settings, or as slots.';
}

/* An address opens what it says; without one the page opens as it was made, however long that is. */
function readAddress() {
  const pairs = pairsOf(address.read() || page.state);
  tellLength(true);
  enter(roomOf(pairs), pairs);
}

function header() {
  $('rooms').append(...ROOMS.map(([name, words]) => make('a', {href: '#', 'data-room': name, click: (event) => {
    event.preventDefault();
    const text = page.rooms[name].address();
    address.go(text);
    tellLength(true);
    enter(name, pairsOf(text));
  }}, words)));
  $('palette').append(...PALETTES.map(([value, words]) => make('option', {value}, words)));
  $('palette').addEventListener('change', () => {
    colours.palette = $('palette').value;
    repaint();
  });
  $('b-link').addEventListener('click', async () => {
    if (page.room !== 'lessons') {
      address.go(page.rooms[page.room].address());
    }
    tellLength(address.whole);
    if (!address.whole) {
      return;
    }
    await navigator.clipboard.writeText(location.href).then(() => { $('b-link').textContent = 'Copied'; }, () => { window.prompt('Link', location.href); });
    setTimeout(() => { $('b-link').textContent = 'Copy link'; }, 1500);
  });
}

function repaint() {
  colours.patterns.clear();
  if (!$('schedule').hidden) { page.rooms.schedule.update(); }
  if (!$('model').hidden) { page.rooms.model.update(); }
}

/* The Worker's core, from when the first model is asked for. */
function workerOf(module) {
  let opened = null;
  return () => {
    opened = opened || openCore(module, $('host').textContent);
    return opened;
  };
}

async function begin() {
  const data = JSON.parse($('data').textContent);
  const core = await loadCore(await unpackCore(data.core));
  page.version = data.version;
  page.rooms.schedule = new ScheduleRoom(core, changed);
  page.rooms.model = new ModelRoom(core, workerOf(core.module), changed);
  page.rooms.lessons = new Lessons(LESSONS, showLive);
  page.rooms.lessons.at = 0;
  page.state = data.state;
  header();
  $('opening').hidden = true;
  readAddress();
  window.addEventListener('hashchange', readAddress);
  colours.dark.addEventListener('change', repaint);
  page.ready = performance.now();
  window.trainyard = page;
}

begin().catch((wrong) => {
  $('opening').className = 'trouble';
  $('opening').textContent = `The simulator inside this page does not start in this browser: ${wrong.message}`;
});
