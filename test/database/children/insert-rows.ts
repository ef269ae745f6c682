/** Inserts 1, 2, 3, … into the database named on the command line for as long as it lives, and prints each number once it is committed. */
import { writeSync } from 'node:fs'
import { openDatabase } from '../../../src/database/database.ts'

const [at = ''] = process.argv.slice(2)

await using database = await openDatabase({
  at,
  schemas: ['rollcall'],
  migrations: [{ name: '0001-number', sql: 'CREATE TABLE number (id int PRIMARY KEY, filler text)' }],
})
const { rows } = await database.pool.query('SELECT coalesce(max(id), 0) AS last FROM number')
for (let id = rows[0].last + 1; ; id++) {
  await database.pool.query('INSERT INTO number VALUES ($1, $2)', [id, 'x'.repeat(500)])
  // Waits for whoever reads. What `process.stdout` still holds for a slow reader is lost when the process is killed.
  writeSync(1, `${id}\n`)
}
