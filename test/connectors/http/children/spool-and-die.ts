import { openSpool } from '../../../../src/connectors/http/lists/spool.ts'

// Run as a process of its own: makes a file in the named folder, says so, and waits to be killed.
const [folder = ''] = process.argv.slice(2)
const spool = await openSpool(folder)
await spool.append('people')
console.log('written')
setInterval(() => {}, 60_000)
