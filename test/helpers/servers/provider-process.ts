/** Provides until its input ends, which it does with the process that started it, however that ends. */
import { startProvider } from './provider.ts'

// Nobody may be left to read what is printed; what has been started is to be ended all the same.
process.stderr.on('error', () => {})

await using provider = await startProvider()
process.stdout.write(`${provider.address}\n`)
for await (const _chunk of process.stdin);
