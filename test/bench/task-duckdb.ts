import { DuckDBInstance } from '@duckdb/node-api'
import { report } from './report.ts'

// The result of the Python script, computed by a column database that reads both exports on all processors and stores nothing.
const [former = '', current = ''] = process.argv.slice(2)
const key = '"Worker ID"'

await report(
  async () => {
    const database = await DuckDBInstance.create(':memory:')
    const connection = await database.connect()
    const answer = await connection.runAndReadAll(`
      select count(current.${key})::integer as count,
        count(*) filter (former.${key} is null)::integer as joined,
        count(*) filter (current.${key} = former.${key} and current is distinct from former)::integer as changed,
        count(*) filter (current.${key} is null)::integer as "left"
      from ${rowsOf(former)} as former full outer join ${rowsOf(current)} as current on current.${key} = former.${key}`)
    const [{ count, ...counts } = { count: 0 }] = answer.getRowObjectsJson()
    return { count: Number(count), found: counts }
  },
  { from: 'process' },
)

function rowsOf(path: string): string {
  return `read_csv('${path.replaceAll("'", "''")}', header = true, all_varchar = true)`
}
