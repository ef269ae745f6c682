// What the audit trail says of the statements between both ends of a period, in one line. verify.mjs prints it and refuses nothing for it.
export function nightsOf(folder, { acts, beside }) {
  const [start, end] = ['start', 'end'].map((at) => JSON.parse(beside(`${folder}/statement-${at}.json`)))
  const removed = beside(`${folder}/removed.txt`).toString().split('\n').filter(Boolean).length
  const name = decodeURIComponent(folder.split('/')[1])
  if (!end) return `${name}: no statement, ${removed} removed`
  const made = acts.filter(
    ({ act, connection, at }) =>
      act === 'statement.made' && connection === end.connection && at <= end.madeAt && (!start || at >= start.madeAt),
  )
  const differing = made.filter(({ details }) => !details.addsUp).map(({ runId }) => runId)
  const pauses = made.slice(1).map(({ at }, index) => [Date.parse(at) - Date.parse(made[index].at), made[index].at])
  const [pause, after] = pauses.sort(([one], [other]) => other - one)[0] ?? [0, end.madeAt]
  const lacking = differing.length === 0 ? '' : ` (after the runs ${differing.join(', ')})`
  const first = start ? start.madeAt : 'the first one'
  return `${name}: statements from ${first} to ${end.madeAt}: ${made.length} made, ${differing.length} not adding up${lacking}, ${removed} removed; the longest time between two is ${Math.round(pause / 3_600_000)} hours, after ${after}`
}
