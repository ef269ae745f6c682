import { createHash } from 'node:crypto'
import pg from 'pg'

/**
 * Within a statement: a server plans it once for each connection instead of each time. For statements that every request runs and whose
 * plan does not depend on their parameters. There must be few different texts: a connection keeps them all.
 */
export const prepared = '/* prepared */ '

/** A client that prepares the statements which ask for it. */
export class PreparingClient extends pg.Client {
  // node-postgres describes a dozen ways to call this; all of them begin with the statement, and the rest is passed on as it is.
  override query(...[statement, ...rest]: readonly unknown[]): never {
    const isMarked = typeof statement === 'string' && statement.includes(prepared)
    const query = super.query as (...passed: readonly unknown[]) => never
    return query.call(this, isMarked ? { text: statement, name: nameOf(statement) } : statement, ...rest)
  }
}

const names = new Map<string, string>()

// Servers cut longer names off, so that two of them could become one.
function nameOf(statement: string): string {
  const known = names.get(statement)
  if (known !== undefined) return known
  const name = createHash('sha256').update(statement).digest('base64url')
  names.set(statement, name)
  return name
}
