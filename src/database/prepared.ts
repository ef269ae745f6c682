import { createHash } from 'node:crypto'
import { CopyingClient } from './copy.ts'

/**
 * Marks a statement that a server plans once for each connection, instead of each time. It is for statements that every request runs
 * and whose plan does not depend on their parameters. There must be few different texts, because a connection keeps them all.
 */
export const prepared = '/* prepared */ '

/** A client that prepares the marked statements. */
export class PreparingClient extends CopyingClient {
  // node-postgres declares a dozen ways to call this. All begin with the statement, and the rest is passed on as it is.
  override query(...[statement, ...rest]: readonly unknown[]): never {
    const isMarked = typeof statement === 'string' && statement.includes(prepared)
    const query = super.query as (...passed: readonly unknown[]) => never
    return query.call(this, isMarked ? { text: statement, name: nameOf(statement) } : statement, ...rest)
  }
}

const names = new Map<string, string>()

// Servers cut longer names off, so two of them could become equal.
function nameOf(statement: string): string {
  const known = names.get(statement)
  if (known !== undefined) return known
  const name = createHash('sha256').update(statement).digest('base64url')
  names.set(statement, name)
  return name
}
