// Does what HOW-TO-VERIFY.txt says with the files beside it: node verify.mjs [the public key that you were given, if not the one beside it]
import { createHash, createPublicKey, verify } from 'node:crypto'
import { readdirSync, readFileSync } from 'node:fs'

const beside = (name) => readFileSync(new URL(name, import.meta.url))
const sha = (data) => createHash('sha256').update(data).digest('hex')
const refuse = (why) => process.exit(console.log(`NOT VALID: ${why}`) ?? 1)
const given = process.argv[2]
const key = createPublicKey(given ? readFileSync(given) : beside('public-key.pem'))
const sums = beside('MANIFEST')
if (!verify(null, sums, key, beside('MANIFEST.sig'))) refuse('MANIFEST was not signed with this key, or was changed')
const [title, ...lines] = sums.toString().split('\n').filter(Boolean)
const names = lines.map((line) => line.slice(66))
for (const [index, name] of names.entries())
  if (sha(beside(name)) !== lines[index].slice(0, 64)) refuse(`${name} is not the file that was signed`)
let [hash, at, proven, signer] = ['0'.repeat(64), 0, true, null]
const entries = []
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
    if (it.kind === 'entry') entries.push(JSON.parse(it.entry))
  }
}
if (!proven) refuse(`no signature stands for entry ${at} of the audit trail`)
if (signer !== null && signer !== key.export({ type: 'spki', format: 'der' }).toString('base64'))
  refuse('the audit trail was signed with another key')
const { verifyPopulation } = await import('./verify-population.mjs')
const { nightsOf } = await import('./verify-nights.mjs')
console.log(title.slice(2))
const present = readdirSync(new URL('.', import.meta.url), { recursive: true }).map((name) =>
  name.replaceAll('\\', '/'),
)
const isListed = (entry) => names.some((name) => name === entry || name.startsWith(`${entry}/`))
const added = present.filter((entry) => !isListed(entry) && !['MANIFEST', 'MANIFEST.sig', given].includes(entry))
if (added.length > 0) console.log(`not in MANIFEST, so not part of the pack: ${JSON.stringify(added)}`)
const folders = names
  .filter((name) => name.endsWith('/statement-end.json'))
  .map((name) => name.split('/').slice(0, -1).join('/'))
for (const folder of folders) console.log(nightsOf(folder, { entries, beside }))
const differing = folders.flatMap((folder) => verifyPopulation(folder, { entries, beside, sha, refuse }))
const by = given ? '' : ' with the key beside the files, which anybody can make'
const result = differing.length === 0 ? `valid${by}` : `authentic${by}, but ${differing.join(' and ')} does not add up`
const checked = `the files are those that were signed, and ${entries.length} audit entries are as they were signed`
console.log(`${result}: ${checked}`)
process.exitCode = differing.length === 0 ? 0 : 2
