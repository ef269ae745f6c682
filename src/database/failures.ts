import { errorCode, Failure } from '../errors.ts'
import { diskFullFailure } from '../system/disk-full.ts'

/** What an error of a database means for an operator, by SQLSTATE or system error code. */
const meanings: readonly (readonly [RegExp, string])[] = [
  [/^(?:53100|ENOSPC|EDQUOT)$/, 'the disk of the database is full: free some space on it'],
  [
    /^25006$/,
    'the database takes no writes: name the primary server, or end its read-only state (default_transaction_read_only)',
  ],
  [/^53200$/, 'the database has too little memory: give its machine more'],
  [/^(?:58030|58P0[12]|EIO)$/, 'the disk of the database fails: look at the log of its machine'],
  [/^XX00[12]$/, 'the database is damaged: restore it from a backup'],
  [/^42501$/, 'the role of the database may not do what is needed: give it the rights on its own schemas'],
  [
    /^57014$/,
    'the database ended a statement that took too long: leave statement_timeout out of its address, or raise it there',
  ],
  [/^53300$/, 'the database takes no more connections: raise max_connections, or end those that are not needed'],
  [
    /^(?:08...|57P..|ECONN(?:REFUSED|RESET|ABORTED)|EPIPE|ETIMEDOUT|E(?:HOST|NET)(?:UNREACH|DOWN)|ENOTFOUND|EAI_AGAIN)$/,
    awayText(),
  ],
]

// Messages of node-postgres and its pool without a code.
const awayMessages =
  /^connection (?:is closed|terminated|ended)|timeout exceeded when trying to connect|after calling end|client was closed|connection error/i

const databaseNames = new WeakMap<Error, string>()

/** Remembers the database of an error whose reason is on this machine, so that the message can name it. */
export function rememberDatabaseName(error: Error, name: string): void {
  databaseNames.set(error, name)
}

/**
 * The failure behind an error of a database: it is unreachable, or unusable for a reason that an operator can fix. Null for every other
 * error, such as a mistake in a statement. The message of the database may quote values, so it is not repeated.
 */
export function databaseFailure(error: unknown): Failure | null {
  if (!(error instanceof Error) || error instanceof Failure) return null
  // A file of ours, such as one of the data folder, on another disk than that of the database.
  const diskFull = diskFullFailure(error)
  if (diskFull !== null) return diskFull
  const code = errorCode(error) ?? ''
  const meaning = meanings.find(([codes]) => codes.test(code))?.[1]
  const name = databaseNames.get(error) ?? 'the database'
  if (meaning !== undefined) return unreachable(`${meaning.replace('the database', name)} (${code})`, error)
  if (awayMessages.test(error.message)) return unreachable(awayText(), error)
  if (error.name === 'RuntimeError')
    return unreachable('the embedded database has stopped: start Rollcall again', error)
  return error instanceof AggregateError ? databaseFailure(error.errors[0]) : null
}

function awayText(): string {
  return 'the database does not answer: check that it runs and can be reached'
}

function unreachable(message: string, cause: Error): Failure {
  return new Failure('database_unreachable', message, { cause })
}
