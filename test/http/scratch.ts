import { connect } from 'node:net'
import { serveNotes } from './notes.ts'
await using s = await serveNotes()
const {port} = new URL(s.baseUrl)
function say(text: string, end: 'destroy'|'wait') { return new Promise<string>((resolve) => { const k = connect(Number(port), '127.0.0.1', () => { k.write(text); if (end==='destroy') setTimeout(()=>k.destroy(), 50) }); let got=''; k.on('data', d => got+=d); k.on('close', () => resolve(got)); k.on('error', ()=>{}) }) }
console.log(await say('POST /v1/notes HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\ncontent-length: 100\r\n\r\n{"text":', 'destroy'))
console.log(await say('GARBAGE\r\n\r\n', 'wait'))
console.log(await say('GET /v1/notes HTTP/1.1\r\nhost: x\r\nx: '+'y'.repeat(40000)+'\r\n\r\n', 'wait'))
console.log(await say('GET /v1/notes HTTP/1.1\r\n\r\n', 'wait'))
await new Promise(r=>setTimeout(r,200))
console.log(s.logged)
