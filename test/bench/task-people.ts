import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'

// Serves a list of people in pages until its input ends: by cursor, or by offset with and without a total.
const [count = '0', size = '1'] = process.argv.slice(2)
const [people, pageSize] = [Number(count), Number(size)]

/** A record as HR systems send it, of some 600 bytes. */
function personAt(index: number) {
  const id = `E${String(index).padStart(7, '0')}`
  const address = { street: `Main Street ${index % 400}`, city: 'Springfield', zip: `${10_000 + (index % 9000)}` }
  return {
    id,
    number: index,
    name: {
      first: `First${index % 900}`,
      last: `Last${index % 7000}`,
      display: `First${index % 900} Last${index % 7000}`,
    },
    emails: [{ type: 'work', value: `${id.toLowerCase()}@people.example` }],
    status: index % 20 === 0 ? 'terminated' : 'active',
    employment: {
      startDate: '2021-03-01',
      endDate: index % 20 === 0 ? '2026-01-31' : null,
      type: 'permanent',
      hours: 38.5,
      location: { id: index % 40, name: `Office ${index % 40}`, address },
    },
    department: { id: index % 120, name: `Department ${index % 120}` },
    manager: { id: `E${String(Math.floor(index / 8)).padStart(7, '0')}` },
    title: 'Engineer, Platform and Infrastructure',
    updatedAt: '2026-11-01T08:30:00+01:00',
  }
}

const server = createServer((request, response) => {
  const { pathname, searchParams } = new URL(request.url ?? '/', 'http://hr')
  const from = Number(searchParams.get('offset') ?? '0')
  const to = Math.min(people, from + pageSize)
  const items = Array.from({ length: Math.max(0, to - from) }, (_, index) => personAt(from + index))
  const meta =
    pathname === '/cursor' ? { next: to < people ? to : null } : pathname === '/total' ? { total: people } : {}
  const text = JSON.stringify({ items, meta })
  response.writeHead(200, { 'content-type': 'application/json', 'content-length': Buffer.byteLength(text) })
  response.end(text)
})
server.listen(0, '127.0.0.1', () => {
  const { port } = server.address() as AddressInfo
  process.stdout.write(`${JSON.stringify({ url: `http://127.0.0.1:${port}` })}\n`)
})
for await (const _ of process.stdin);
server.closeAllConnections()
server.close()
