import Fastify from 'fastify'
import pg from 'pg'

// Serves the SQL of a list's first page behind a bare route until its input ends, as the reference for a list.
const [database = '', statement = ''] = process.argv.slice(2)
const pool = new pg.Pool({ connectionString: database, max: 10, options: '-c search_path=platform' })
const app = Fastify()
app.get('/bare', async () => {
  const { rows } = await pool.query(statement)
  return { data: rows }
})
process.stdout.write(`${JSON.stringify({ url: `${await app.listen({ host: '127.0.0.1', port: 0 })}/bare` })}\n`)
for await (const _ of process.stdin);
await app.close()
await pool.end()
