// Does what HOW-TO-VERIFY.txt says with the files beside it: node verify.mjs [the public key that you were given, if not the one beside it]
import { createHash, createPublicKey, verify } from 'node:crypto'
import { existsSync, readdirSync, readFileSync } from 'node:fs'

const beside = (name) => readFileSync(new URL(name, import.meta.url))
const sha = (data) => createHash('sha256').update(data).digest('hex')
const refuse = (why) => process.exit(console.log(`NOT VALID: ${why}`) ?? 1)
const key = createPublicKey(process.argv[2] ? readFileSync(process.argv[2]) : beside('public-key.pem'))
const sums = beside('MANIFEST')
if (!verify(null, sums, key, beside('MANIFEST.sig'))) refuse('MANIFEST was not signed with this key, or was changed')
for (const line of sums
  .toString()
  .split('\n')
  .filter((each) => each !== '' && !each.startsWith('#'))) {
  const [sum, name] = line.split('  ')
  if (sha(beside(name)) !== sum) refuse(`${name} is not the file that was signed`)
}
let [hash, at, acts, proven, signer] = ['0'.repeat(64), 0, 0, true, null]
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
    ;[at, acts, proven] = [it.ordinal, acts + (it.kind === 'entry'), false]
  }
}
if (!proven) refuse(`no signature stands for entry ${at} of the audit trail`)
if (signer !== null && signer !== key.export({ type: 'spki', format: 'der' }).toString('base64'))
  refuse('the audit trail was signed with another key')
const folder = new URL('population/', import.meta.url)
for (const name of existsSync(folder) ? readdirSync(folder) : []) {
  const lines = (file) =>
    beside(`population/${encodeURIComponent(name)}/${file}`)
      .toString()
      .split('\n')
      .filter(Boolean)
  const [before, after] = [
    [...lines('start.txt'), ...lines('entered.txt')],
    [...lines('end.txt'), ...lines('left.txt')],
  ]
  if (before.sort().join('\n') !== after.sort().join('\n'))
    refuse(`${name}: the start and who entered are not the end and who left`)
}
console.log(`valid: the files are those that were signed, and ${acts} acts of the audit trail are as they were signed`)
