import { Client } from 'undici'
import { report } from './report.ts'

// Requests the pages of a list, parses and counts them, as the measure of a reading.
const [url = '', size = '1', rounds = '1'] = process.argv.slice(2)
const { origin, pathname } = new URL(url)
const client = new Client(origin)

await report(async () => {
  let count = 0
  for (let round = 0; round < Number(rounds); round += 1) {
    count = 0
    for (let isLast = false; !isLast; ) {
      const { body } = await client.request({ method: 'GET', path: `${pathname}?offset=${count}` })
      const { items } = JSON.parse(await body.text()) as { items: unknown[] }
      count += items.length
      isLast = items.length < Number(size)
    }
  }
  return { count }
})
await client.close()
