// Step 4 of HOW-TO-VERIFY.txt for the folder of one connection: verify.mjs calls it once each file is the one that was signed. Returns the
// statements that are as they were signed and do not add up.
export function verifyPopulation(folder, { entries, beside, sha, refuse }) {
  const wrong = (why) => refuse(`${folder.split('/')[1]}: ${why}`)
  const linesOf = (name) => beside(`${folder}/${name}`).toString().split('\n').filter(Boolean)
  const sorted = (...names) => names.flatMap(linesOf).sort().join('\n')
  const [start, end] = ['start', 'end'].map((name) => JSON.parse(beside(`${folder}/statement-${name}.json`)))
  const differing = [start, end].filter((one) => one && !verifyStatement(one, { entries, wrong }).addsUp)
  if (sorted('start.txt', 'entered.txt') !== sorted('end.txt', 'left.txt'))
    wrong('the start and who entered are not the end and who left')
  // Each cell with a text is quoted, and none holds a line end.
  const moved = linesOf('movements.csv').map((line) => /^"(?:[^"]|"")*","\w+",(true|false),/.exec(line)?.[1])
  for (const [name, entered] of Object.entries({ 'entered.txt': 'true', 'left.txt': 'false' }))
    if (linesOf(name).length !== moved.filter((each) => each === entered).length)
      wrong(`movements.csv does not have everybody of ${name}`)
  if (!end) return []
  verifyParts(end, { people: linesOf('accounted-end.csv'), employed: linesOf('end.txt').length, wrong })
  const exported = linesOf('export-end.txt')
  if (end.addsUp && end.export && sha(exported.map((line) => `${line.slice(0, 64)}\n`).join('')) !== end.export.keys)
    wrong('export-end.txt is not what the statement sums up')
  for (const [digest, key] of exported.map((line) => [line.slice(0, 64), line.slice(65)]))
    if (key !== '' && sha(`${end.export.installation}\n${end.connection}\n${key}`) !== digest)
      wrong(`the digest of ${key} is another one`)
  return [...new Set(differing.map(({ runId }) => `the statement after run ${runId}`))]
}

function verifyStatement(statement, { entries, wrong }) {
  const { runId, madeAt } = statement
  const of = `the statement after run ${runId}`
  const entry = entries.find((each) => each.runId === runId && each.at === madeAt && each.act === 'statement.made')
  if (!entry) wrong(`the audit trail has no entry of ${of}`)
  const { addsUp, stated, platform, rows } = statement
  const counts = { exported: stated.exported, further: stated.further, stated: stated.parts, rows: rows?.delivered }
  const records = { records: platform.records, platform: platform.parts }
  const digests = { keys: statement.export?.keys, sha256: statement.export?.sha256 }
  for (const [name, value] of Object.entries({ addsUp, ...counts, ...records, ...digests }))
    if (JSON.stringify(value ?? null) !== JSON.stringify(entry.details[name] ?? null))
      wrong(`"${name}" of ${of} is not that of the audit trail`)
  return statement
}

function verifyParts({ stated, platform }, { people, employed, wrong }) {
  const everybody = people.flatMap((line) => {
    const [, isStated, part, onPlatform] = /^"(?:[^"]|"")*",(true|false),"(\w+)",(?:"(\w+)")?,/.exec(line) ?? []
    return part ? [{ isStated: isStated === 'true', part, onPlatform }] : []
  })
  const count = (isIn) => everybody.filter(isIn).length
  for (const [part, size] of Object.entries(stated.parts))
    if (count((one) => one.isStated && one.part === part) !== size) wrong(`the people in ${part} are not ${size}`)
  for (const [part, size] of Object.entries(platform.parts)) {
    const isIn = (one) => (part === 'stated' ? one.isStated : !one.isStated && one.part === part)
    if (count((one) => one.onPlatform && isIn(one)) !== size) wrong(`the records in ${part} are not ${size}`)
  }
  if (count((one) => one.onPlatform === 'employed' && one.part !== 'foreign') !== employed)
    wrong('end.txt is not who is employed on the platform')
}
