// Verifies an export of the audit trail with the public key alone: node verify-excerpt.mjs EXPORT PUBLIC_KEY_PEM
import { createHash, createPublicKey, verify } from 'node:crypto'
import { readFileSync } from 'node:fs'

const [, , file, pem] = process.argv
const trusted = createPublicKey(readFileSync(pem)).export({ type: 'spki', format: 'der' }).toString('base64')
const sha256 = (text) => createHash('sha256').update(text).digest('hex')
const refuse = (why) => {
  console.log(`NOT PROVEN: ${why}`)
  process.exit(1)
}
let at = 0
let hash = '0'.repeat(64)
let signed = 0
let key = null
let shown = 0
for (const text of readFileSync(file, 'utf8').trimEnd().split('\n').filter(Boolean)) {
  const line = JSON.parse(text)
  if (line.kind === 'start') {
    if (signed !== at) refuse(`entry ${at} is not signed`)
    at = signed = line.after
    hash = line.hash
  } else if (line.kind === 'head') {
    const message = `rollcall audit head\n${line.ordinal}\n${line.previous}\n${line.hash}\n${line.at}\n`
    const by = createPublicKey({ key: Buffer.from(line.key, 'base64'), format: 'der', type: 'spki' })
    if (line.ordinal !== at || line.hash !== hash) refuse(`head ${line.ordinal} is of another trail`)
    if (!verify(null, Buffer.from(message), by, Buffer.from(line.signature, 'base64'))) refuse(`signature ${at}`)
    signed = at
    key = line.key
  } else {
    if (line.ordinal !== ++at) refuse(`entry ${at} is missing`)
    hash = sha256(`${hash}\n${line.kind === 'link' ? line.digest : sha256(line.entry)}`)
    shown += line.kind === 'entry' ? 1 : 0
  }
}
if (signed !== at) refuse(`entry ${at} is not signed`)
if (key !== trusted) refuse('the last head was signed by another key')
console.log(`PROVEN: ${shown} entries`)
