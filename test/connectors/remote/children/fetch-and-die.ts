import { openSpooled } from '../../../../src/connectors/remote/spool.ts'

// Run as a process of its own: has a complete copy and half a download in the named folder, says so, and waits to be killed.
const [folder = ''] = process.argv.slice(2)
const whole = await openSpooled(folder, 'a'.repeat(64))
await whole.handle.write('whole')
await whole.complete()
const half = await openSpooled(folder, 'b'.repeat(64))
await half.handle.write('half')
console.log('written')
setInterval(() => {}, 60_000)
