// Does what HOW-TO-VERIFY.txt says with the files beside it: node verify.mjs [the public key that you were given, if not the one beside it]
import { createHash, createPublicKey, verify } from 'node:crypto'
import { readFileSync } from 'node:fs'

const beside = (name) => readFileSync(new URL(name, import.meta.url))
const sha = (data) => createHash('sha256').update(data).digest('hex')
const refuse = (why) => process.exit(console.log(`NOT VALID: ${why}`) ?? 1)
const key = createPublicKey(process.argv[2] ? readFileSync(process.argv[2]) : beside('public-key.pem'))
const sums = beside('MANIFEST')
if (!verify(null, sums, key, beside('MANIFEST.sig'))) refuse('MANIFEST was not signed with this key, or was changed')
const names = []
for (const line of sums
  .toString()
  .split('\n')
  .filter((each) => each !== '' && !each.startsWith('#'))) {
  const [sum, name] = [line.slice(0, 64), line.slice(66)]
  names.push(name)
  if (sha(beside(name)) !== sum) refuse(`${name} is not the file that was signed`)
}
let [hash, at, proven, signer] = ['0'.repeat(64), 0, true, null]
const acts = []
for (const line of beside('audit.jsonl').toString().split('\n').filter(Boolean)) {
  const it = JSON.parse(line)
  if (it.kind === 'start') {
    if (!proven) refuse(`no signature stands for entry ${at} of the audit trail`)
    ;[at, hash] = [it.after, it.hash]
  } else if (it.kind === 'head') {
    const text = `rollcall audit head\n${it.ordinal}\n${it.previous}\n${it.hash}\n${it.at}\n`
    const by = createPublicKey({ key: Buffer.from(it.key, 'base64'), format: 'der', type: 'spki' })
    const isOurs =
      it.ordinal === at && it.hash === hash && verify(null, Buffer.from(text), by, Buffer.from(it.signature, 'base64'))
    if (!isOurs) refuse(`the audit trail up to entry ${at} is not what was signed`)
    ;[proven, signer] = [true, it.key]
  } else {
    if (it.ordinal !== at + 1) refuse(`entry ${at + 1} of the audit trail is missing`)
    hash = sha(`${hash}\n${it.kind === 'entry' ? sha(it.entry) : it.digest}`)
    ;[at, proven] = [it.ordinal, false]
    if (it.kind === 'entry') acts.push(JSON.parse(it.entry))
  }
}
if (!proven) refuse(`no signature stands for entry ${at} of the audit trail`)
if (signer !== null && signer !== key.export({ type: 'spki', format: 'der' }).toString('base64'))
  refuse('the audit trail was signed with another key')
const linesOf = (file) => beside(file).toString().split('\n').filter(Boolean)
const sorted = (...files) => files.flatMap(linesOf).sort().join('\n')
for (const end of names.filter((name) => name.endsWith('/statement-end.json'))) {
  const of = (name) => end.replace('statement-end.json', name)
  const wrong = (why) => refuse(`${end.split('/')[1]}: ${why}`)
  const statements = ['statement-start.json', 'statement-end.json'].map((name) => JSON.parse(beside(of(name))))
  for (const one of statements.filter(Boolean)) {
    if (!one.addsUp) wrong(`the statement after run ${one.runId} does not add up`)
    const act = acts.find((each) => each.act === 'statement.made' && each.runId === one.runId)
    if (!act) wrong(`the audit trail has no entry of the statement after run ${one.runId}`)
    const { exported, further, parts } = one.stated
    const stated = { exported, further, stated: parts, records: one.platform.records, platform: one.platform.parts }
    const made = {
      addsUp: true,
      ...stated,
      rows: one.rows?.delivered,
      keys: one.export?.keys,
      sha256: one.export?.sha256,
    }
    for (const [name, value] of Object.entries(made))
      if (JSON.stringify(value ?? null) !== JSON.stringify(act.details[name] ?? null))
        wrong(`"${name}" of the statement after run ${one.runId} is not that of the audit trail`)
  }
  if (sorted(of('start.txt'), of('entered.txt')) !== sorted(of('end.txt'), of('left.txt')))
    wrong('the start and who entered are not the end and who left')
  // Each cell with a text is quoted, and none holds a line end.
  const moved = linesOf(of('movements.csv')).map((line) => /^"(?:[^"]|"")*","\w+",(true|false),/.exec(line)?.[1])
  for (const [file, entered] of [
    ['entered.txt', 'true'],
    ['left.txt', 'false'],
  ])
    if (linesOf(of(file)).length !== moved.filter((each) => each === entered).length)
      wrong(`movements.csv does not have everybody of ${file}`)
  const statement = statements[1]
  if (!statement) continue
  const people = linesOf(of('accounted-end.csv')).flatMap((line) => {
    const [, isStated, part, onPlatform] = /^"(?:[^"]|"")*",(true|false),"(\w+)",(?:"(\w+)")?,/.exec(line) ?? []
    return part ? [{ isStated: isStated === 'true', part, onPlatform }] : []
  })
  for (const [part, count] of Object.entries(statement.stated.parts))
    if (people.filter((one) => one.isStated && one.part === part).length !== count)
      wrong(`the people in ${part} are not ${count}`)
  for (const [part, count] of Object.entries(statement.platform.parts)) {
    const isIn = (one) => (part === 'stated' ? one.isStated : !one.isStated && one.part === part)
    if (people.filter((one) => one.onPlatform && isIn(one)).length !== count)
      wrong(`the records in ${part} are not ${count}`)
  }
  if (
    people.filter((one) => one.onPlatform === 'employed' && one.part !== 'foreign').length !==
    linesOf(of('end.txt')).length
  )
    wrong('end.txt is not who is employed on the platform')
  const exported = linesOf(of('export-end.txt'))
  if (statement.export && sha(exported.map((line) => `${line.slice(0, 64)}\n`).join('')) !== statement.export.keys)
    wrong('export-end.txt is not what the statement sums up')
  for (const line of exported)
    if (
      line.length > 64 &&
      sha(`${statement.export.installation}\n${statement.connection}\n${line.slice(65)}`) !== line.slice(0, 64)
    )
      wrong(`the digest of ${line.slice(65)} is another one`)
}
console.log(
  `valid: the files are those that were signed, and ${acts.length} acts of the audit trail are as they were signed`,
)
