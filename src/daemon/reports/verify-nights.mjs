const dayMs = 24 * 3_600_000

// What the audit trail says of the statements of a period, in one line. verify.mjs prints it and refuses nothing for it.
export function nightsOf(folder, { entries, beside }) {
  const { from, to, madeAt } = JSON.parse(beside('report.json'))
  const [start, end] = ['start', 'end'].map((at) => JSON.parse(beside(`${folder}/statement-${at}.json`)))
  const removed = beside(`${folder}/removed.txt`).toString().split('\n').filter(Boolean).length
  const name = `${decodeURIComponent(folder.split('/')[1])}, ${from} to ${to}`
  if (!end) return `${name}: no statement, ${removed} removed`
  const made = entries.filter(
    ({ act, connection, at }) =>
      act === 'statement.made' && connection === end.connection && at <= end.madeAt && (!start || at >= start.madeAt),
  )
  const differing = made.filter(({ details }) => !details.addsUp).map(({ runId }) => runId)
  const endOfPeriod = new Date(Math.min(Date.parse(to) + dayMs, Date.parse(madeAt))).toISOString()
  const times = [...made.map(({ at }) => at), endOfPeriod]
  const gaps = times.slice(1).map((at, index) => [Date.parse(at) - Date.parse(times[index]), times[index]])
  const [gap, after] = gaps.sort(([one], [other]) => other - one)[0] ?? [0, end.madeAt]
  const runs = differing.length === 0 ? '' : ` (after the runs ${differing.join(', ')})`
  const first = start ? start.madeAt : 'the first one'
  return `${name}: statements from ${first} to ${end.madeAt}: ${made.length} made, ${differing.length} not adding up${runs}, ${removed} removed; the longest time without one is ${Math.round(Math.max(gap, 0) / 3_600_000)} hours, after ${after}`
}
