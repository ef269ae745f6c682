// Renews the parts of a page that show something moving: when the stream of events says that something happened, and on their own
// clock while there is no stream. What a part shows comes from the server; an event only says that it is worth asking.

const events = ['snapshot', 'run', 'alert']
// What is shared by many is up to a second old when it is sent.
const gatherMs = 1000
const tickMs = 1000
// A connection can be dead without either end being told.
const maxDelayMs = 60_000

let isStreaming = false
let isGathering = false
let renewedAt = performance.now()

function renew() {
  isGathering = false
  renewedAt = performance.now()
  for (const part of document.querySelectorAll('[data-renew-seconds]')) part.dispatchEvent(new CustomEvent('renew'))
}

function pauseMs() {
  if (isStreaming) return maxDelayMs
  const seconds = [...document.querySelectorAll('[data-renew-seconds]')].map(({ dataset }) => dataset.renewSeconds)
  return Math.min(maxDelayMs, ...seconds.map((text) => Number(text) * 1000))
}

// htmx looks through the page as soon as it is there, and its extension may come later: the stream begins behind both.
setTimeout(() => {
  for (const element of document.querySelectorAll('[data-stream]')) {
    element.setAttribute('hx-sse:connect', element.dataset.stream)
    htmx.process(element)
  }
})
for (const name of events) {
  document.addEventListener(name, () => {
    if (isGathering) return
    isGathering = true
    setTimeout(renew, gatherMs)
  })
}
document.addEventListener('htmx:sse:after:connection', () => {
  isStreaming = true
})
for (const name of ['htmx:sse:before:connection', 'htmx:sse:close']) {
  document.addEventListener(name, () => {
    isStreaming = false
  })
}
setInterval(() => {
  if (!document.hidden && performance.now() - renewedAt >= pauseMs()) renew()
}, tickMs)
