import { sql } from 'kysely'
import type { Database } from '../../database/database.ts'
import { Failure } from '../../errors.ts'
import type { Checkpoint } from '../../store/audit/chain.ts'
import { type AuditKey, auditKey, publicKeyOf, publicPem, Signing } from '../../store/audit/key.ts'
import { lastCheckpoint, type PendingEntries, replaceKey, signPending } from '../../store/audit/sign.ts'
import { readEntry, recordAuditEntry, rollcall } from '../../store/audit/trail.ts'
import { type VerificationResult, verifyTrail } from '../../store/audit/verify.ts'
import type { Db, StoreSchema } from '../../store/schema.ts'
import { repeat } from '../../system/repeat.ts'
import type { Events } from '../../telemetry/events.ts'
import { version } from '../../version.ts'
import type { Config } from '../config/config.ts'
import {
  makeKeyFile,
  makeNextKey,
  readHead,
  readKeyFile,
  readPublicKey,
  takeNextKey,
  writeHead,
  writePublicKey,
} from './key-file.ts'

/** What an installation does for its audit trail, and what people ask of it. */
export type AuditService = {
  /** Appends committed entries to the log and signs them. Problems are reported as an event and do not interrupt the caller. */
  seal(): Promise<void>
  /** Why audit entries are not signed; null if they are. */
  trouble(): string | null
  /** `publicKey`: PEM, instead of the key of this installation. */
  verify(options: { publicKey?: string }): Promise<VerificationResult>
  replaceKey(options: { by: string; reason: string }): Promise<{ readonly head: Checkpoint; readonly tied: boolean }>
  [Symbol.asyncDispose](): Promise<void>
}

type AuditedStore = { readonly store: Database<StoreSchema>; readonly audit: AuditService }

const sealMs = 2000

type AuditOptions = { readonly config: Config; readonly events: Events; readonly now: () => Date }

/** What the steps of the service share. */
type AuditState = AuditOptions & {
  readonly db: Db
  readonly signing: Signing
  unsigned: PendingEntries | null
  lastReported: string | null
}

/**
 * Entries written through the returned store are authenticated with the key of this installation, and signed every two seconds and on
 * close. Without the right key runs continue, but entries stay unsigned until an operator runs `rollcall audit new-key`.
 */
export async function openAudit(opened: Database<StoreSchema>, options: AuditOptions): Promise<AuditedStore> {
  const { config, events, now } = options
  const head = await lastCheckpoint(opened.db)
  const signing = new Signing(await auditKeyFor(config, head))
  const store = { ...opened, db: opened.db.withPlugin(signing) }
  const state: AuditState = { ...options, db: store.db, signing, unsigned: null, lastReported: null }
  await checkKey(state, head)
  await recordConfiguration(store.db, config, now())

  // Writers of the log in this process take turns, so that the data folder always has the newest head.
  let last: Promise<unknown> = Promise.resolve()
  function inTurn<T>(work: () => Promise<T>): Promise<T> {
    const done = last.then(work)
    last = done.catch(() => {})
    return done
  }

  /** Signs in turn, so that every entry committed before the call is signed afterwards. */
  async function sealOrReport(): Promise<void> {
    try {
      await inTurn(() => seal(state))
    } catch (error) {
      if (!(error instanceof Failure)) throw error
      report(state, error.message)
    }
  }

  await using starting = new AsyncDisposableStack()
  const failed = (error: unknown) => events.unexpected({ during: 'audit', error })
  starting.defer(() => sealOrReport().catch(failed))
  starting.use(repeat(sealOrReport, { pauseMs: sealMs, onError: failed }))
  const running = starting.move()

  const audit: AuditService = {
    seal: sealOrReport,
    trouble: () => state.lastReported,
    async verify({ publicKey }) {
      await sealOrReport()
      return await verifyWith(state, publicKey)
    },
    replaceKey: (request) => inTurn(() => replaceKeyNow(state, request)),
    [Symbol.asyncDispose]: () => running.disposeAsync(),
  }
  return { store, audit }
}

function report(state: AuditState, reason: string): void {
  if (state.lastReported !== reason) state.events.auditUnsigned({ reason })
  state.lastReported = reason
}

/** Drops a key that cannot continue the log, and reports why; records a new one. */
async function checkKey(state: AuditState, head: Checkpoint | null): Promise<void> {
  const { config, db, signing, now } = state
  if (signing.key === null || (head && head.key !== signing.key.publicKey)) {
    report(
      state,
      signing.key === null
        ? `the key that signed the audit trail is not in ${config.dataDir}; put it back, or let a new one take over with "rollcall audit new-key"`
        : 'the audit trail was signed by another key than that of this installation; daemons that share a database need the same audit.signingKey',
    )
    signing.key = null
    return
  }
  await writePublicKey(config.dataDir, signing.key.publicKey)
  if (head) return
  const details = { key: signing.key.publicKey }
  await recordAuditEntry(db, { act: 'audit.key_made', connection: null, by: rollcall, details, now: now() })
}

/** Signs until nothing is left that can be signed. */
async function seal(state: AuditState): Promise<void> {
  const { config, db, signing, events, now } = state
  const { key } = signing
  if (key === null) return
  for (;;) {
    const sealed = await signPending(db, {
      key,
      kept: await readHead(config.dataDir),
      unsigned: state.unsigned,
      now: now(),
    })
    if (sealed.kind === 'broken') report(state, `${sealed.reason}; see "rollcall audit verify"`)
    if (sealed.kind === 'sealed') state.unsigned = sealed.waiting
    if (sealed.kind !== 'sealed' || sealed.head === null) return
    await writeHead(config.dataDir, sealed.head)
    state.lastReported = null
    events.auditSigned({ entries: sealed.entries, ordinal: sealed.head.ordinal, hash: sealed.head.hash })
  }
}

async function verifyWith(
  { config, db, signing }: AuditState,
  publicKey: string | undefined,
): Promise<VerificationResult> {
  const { dataDir } = config
  const pem = publicKey ?? (signing.key ? publicPem(signing.key.publicKey) : await readPublicKey(dataDir))
  if (pem === null)
    throw new Failure('conflict', 'there is no key to verify with: name its public half with --public-key')
  return await verifyTrail(db, { publicKey: publicKeyOf(pem), kept: await readHead(dataDir), key: signing.key })
}

async function replaceKeyNow(state: AuditState, { by, reason }: { by: string; reason: string }) {
  const { config, db, signing, now } = state
  const { dataDir } = config
  const configured = await configuredKey(config)
  const former = configured ? signing.key : (signing.key ?? (await readKeyFile(dataDir)))
  if (configured && configured.publicKey === signing.key?.publicKey)
    throw new Failure(
      'conflict',
      'audit.signingKey is the key that signs already: configure the new one, start again, and repeat this',
    )
  const next = configured ?? (await makeNextKey(dataDir))
  const kept = await readHead(dataDir).catch(() => null)
  const replaced = await replaceKey(db, { former, next, kept, by, reason, now: now() })
  if (!configured) await takeNextKey(dataDir)
  signing.key = next
  state.unsigned = null
  await writePublicKey(dataDir, next.publicKey)
  await writeHead(dataDir, replaced.head)
  state.lastReported = null
  return replaced
}

/** The key that may continue a log with this head; null if it is missing. A new key is made only if nothing was signed before. */
export async function auditKeyFor(config: Config, head: Checkpoint | null): Promise<AuditKey | null> {
  const configured = await configuredKey(config)
  if (configured) return configured
  const key = await readKeyFile(config.dataDir)
  const next = await readKeyFile(config.dataDir, 'nextKey')
  // A process that was killed right after a key change leaves the new key in the file of the next one.
  if (next && next.publicKey === head?.key) {
    await takeNextKey(config.dataDir)
    return next
  }
  return key ?? (head ? null : await makeKeyFile(config.dataDir))
}

async function configuredKey({ audit: { signingKey } }: Config): Promise<AuditKey | null> {
  return signingKey ? auditKey(await signingKey.read(), 'audit.signingKey') : null
}

/** Records the configuration of this process, unless the previous process had the same. */
async function recordConfiguration(db: Db, { digest, platform }: Config, now: Date): Promise<void> {
  const details = { configuration: digest, platform: platform.baseUrl, apiKey: platform.apiKeyName, version }
  const { rows } = await sql<{ entry: string }>`
    (select entry, 1 as place, id as at from audit_pending where entry like '%"act":"config.used"%'
    union all
    (select entry, 0, ordinal from audit_trail where entry like '%"act":"config.used"%' order by ordinal desc limit 1))
    order by place desc, at desc limit 1`.execute(db)
  const last = readEntry(rows[0]?.entry ?? '')?.details
  if (last && Object.entries(details).every(([name, value]) => last[name] === value)) return
  await recordAuditEntry(db, { act: 'config.used', connection: null, by: rollcall, details, now })
}
