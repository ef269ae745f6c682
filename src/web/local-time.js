// Shows the times of a page in the zone of the reader. The time in UTC, which is all that a page without scripts has, shows on hover.

const days = { dateStyle: 'medium' }
const clocks = { hour: '2-digit', minute: '2-digit', timeZoneName: 'short' }
const { timeZone } = Intl.DateTimeFormat().resolvedOptions()
const local = textsIn({})
const inUtc = textsIn({ timeZone: 'UTC' })

function textsIn(zone) {
  const [day, clock] = [days, clocks].map((parts) => new Intl.DateTimeFormat('en-GB', { ...parts, ...zone }))
  return (at) => [`${day.format(at)},`, clock.format(at)]
}

function setText(element, text) {
  if (element && element.textContent !== text) element.textContent = text
}

function showLocally() {
  for (const time of document.querySelectorAll('time[data-instant]')) {
    const at = new Date(time.dateTime)
    const [day, clock] = local(at)
    setText(time.children[0], day)
    setText(time.children[1], clock)
    const title = inUtc(at).join(' ')
    if (time.title !== title) time.title = title
  }
  for (const time of document.querySelectorAll('time[data-relative]')) {
    const at = new Date(time.dateTime)
    const title = `${local(at).join(' ')} · ${inUtc(at).join(' ')}`
    if (time.title !== title) time.title = title
  }
  // A browser that cannot tell its zone leaves that of the page.
  if (timeZone === 'Etc/Unknown') return
  for (const field of document.querySelectorAll('input[data-zone]')) field.value = timeZone
  for (const name of document.querySelectorAll('[data-zone-name]')) setText(name, timeZone)
}

showLocally()
// Parts of the page are replaced while it is open.
new MutationObserver(showLocally).observe(document.body, { childList: true, characterData: true, subtree: true })
