import { readFile } from 'node:fs/promises'
import type { AuditKeyReplaced, AuditVerification } from '../../contract/control/audit.ts'
import { errorCode, Failure, failures } from '../../errors.ts'
import { escapeJson } from '../../text/escape.ts'
import { standardOutput } from '../../text/print.ts'
import { escapeText, formatInstant, type Paint, pluralize } from '../render/text.ts'
import { parseInstant } from '../session/dates.ts'
import { findPerson } from '../session/person-name.ts'
import { requireRunId } from '../session/run-name.ts'
import { type CommonOptions, requireConnection, type Session, withSession } from '../session/session.ts'

/** The options of `rollcall audit verify`. */
export type AuditVerifyOptions = CommonOptions & { readonly publicKey?: string }
/** The options of `rollcall audit new-key`. */
export type AuditNewKeyOptions = CommonOptions & { readonly reason: string; readonly by: string }
/** The options of `rollcall audit export`. */
export type AuditExportOptions = CommonOptions & {
  readonly from?: string
  readonly to?: string
  readonly act?: string
  readonly by?: string
  readonly run?: string
  readonly person?: string
}

/** Verifies the whole audit trail. The exit code tells whether something is wrong with it. */
export async function auditVerify(options: AuditVerifyOptions): Promise<number> {
  return await withSession(options, {}, async ({ control, output }) => {
    const publicKey = options.publicKey === undefined ? undefined : await readText(options.publicKey)
    const verification = await control.verifyAudit({ body: { ...(publicKey !== undefined && { publicKey }) } })
    output.printResult(verification, renderVerified)
    return verification.finding === null ? 0 : failures.audit_broken.exit
  })
}

/** The result of a verification of the audit trail. */
export function renderVerified(verification: AuditVerification, paint: Paint): string {
  const { entries, heads: signatureCount, pending, finding, untiedUpTo: notCrossSignedUpTo, restored } = verification
  const waiting = pending === 0 ? '' : `; ${pluralize(pending, 'entry', 'entries')} not signed yet`
  const notCrossSigned =
    notCrossSignedUpTo === null
      ? ''
      : `\n${paint('yellow', '!')} entries 1 to ${notCrossSignedUpTo} have no signature by the previous key; only the new key vouches for them`
  const restoredText = restored === null ? '' : `\n${paint('yellow', '!')} ${renderRestored(restored)}`
  if (finding === null) {
    const size = `${pluralize(entries, 'entry', 'entries')}, signed ${pluralize(signatureCount, 'time')}${waiting}`
    return `${paint('green', '✔')} the audit trail is whole: ${size}${notCrossSigned}${restoredText}`
  }
  return `${paint('red', '✖')} the audit trail does not match its signatures: ${escapeText(finding)}${notCrossSigned}${restoredText}`
}

function renderRestored({ ordinal, at, lost }: NonNullable<AuditVerification['restored']>): string {
  const subject = lost === null ? 'entries' : pluralize(lost, 'entry', 'entries')
  return `the store was restored from a backup at ${formatInstant(at)} (entry ${ordinal}): ${subject} signed after the backup ${lost === 1 ? 'is' : 'are'} not in the trail`
}

/** Prints audit entries and their signatures, one line of JSON each. */
export async function auditExport(options: AuditExportOptions): Promise<number> {
  const { from, to, act, by, run, person, connection } = options
  const query = {
    ...(from !== undefined && { from: parseInstant('--from', from) }),
    ...(to !== undefined && { to: parseInstant('--to', to) }),
    ...(act !== undefined && { act }),
    ...(by !== undefined && { by }),
    ...(connection !== undefined && { connection }),
  }
  // Entries may be about a connection that the configuration no longer has.
  return await withSession({ ...options, connection: undefined }, {}, async (session) => {
    const { config, control } = session
    let count = 0
    const about = person === undefined ? {} : await personInTrail(session, person, options)
    const runId = run === undefined ? undefined : await requireRunId(control, run, { connection })
    for (let after: number | null = 0; after !== null; ) {
      const { data, next }: { data: string[]; next: number | null } = await control.exportAudit({
        query: { ...query, ...(runId !== undefined && { runId }), ...about, after },
      })
      count += data.length
      for (const line of data) standardOutput.print(`${escapeJson(line)}\n`)
      after = next
    }
    // No entry of an unknown connection: probably a typing error.
    if (count === 0 && connection !== undefined) requireConnection(options, config)
    return 0
  })
}

/** The trail outlives people and connections: an unknown name is used as the key. */
async function personInTrail(session: Session, name: string, options: CommonOptions): Promise<{ identityId: string }> {
  const isKnown = options.connection === undefined || session.config.connections.has(options.connection)
  const match = isKnown ? await findPerson(session, name, options) : null
  return { identityId: match?.identityId ?? name }
}

/** Replaces the key that signs the audit trail. */
export async function auditNewKey(options: AuditNewKeyOptions): Promise<number> {
  const { reason, by } = options
  return await withSession(options, {}, async ({ control, output }) => {
    output.printResult(await control.replaceAuditKey({ body: { reason, by } }), renderNewKey)
    return 0
  })
}

/** Confirms a new key; shows the public key. */
export function renderNewKey({ tied: isCrossSigned, ordinal, publicKey }: AuditKeyReplaced, paint: Paint): string {
  const done = `${paint('green', '✔')} a new key signs from entry ${ordinal} on. The public key for verification:\n${publicKey.trimEnd()}`
  if (isCrossSigned) return done
  const before = `the former key did not sign this change: only the new key vouches for the entries before ${ordinal}`
  return `${done}\n${paint('yellow', '!')} ${before}`
}

async function readText(path: string): Promise<string> {
  try {
    return await readFile(path, 'utf8')
  } catch (error) {
    throw new Failure('usage', `cannot read ${path} (${errorCode(error)})`, { cause: error })
  }
}
