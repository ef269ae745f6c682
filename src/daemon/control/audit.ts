import type { auditOperations } from '../../contract/control/audit.ts'
import type { Handlers } from '../../http/server/mount.ts'
import { excerptPage } from '../../store/audit/excerpt.ts'
import { publicPem } from '../../store/audit/key.ts'
import { keysOfPerson } from '../../store/key-answers.ts'
import type { ControlContext } from './control-context.ts'
import type { WithActor } from './with-permissions.ts'

/** Handlers of the operations about the audit trail as a whole. */
export const auditHandlers: Handlers<typeof auditOperations, ControlContext & WithActor> = {
  async verifyAudit(ctx, { body: { publicKey } }) {
    return { status: 200, body: await ctx.audit.verify({ publicKey }) }
  },

  async exportAudit(ctx, { query: { after, from, to, identityId, ...others } }) {
    if (after === 0) await ctx.audit.seal()
    const { db } = ctx.sync.store
    const filter = {
      from: from === undefined ? undefined : new Date(from),
      to: to === undefined ? undefined : new Date(to),
      ...others,
      people:
        identityId === undefined ? undefined : await keysOfPerson(db, { connection: others.connection, identityId }),
    }
    const { lines, next } = await excerptPage(db, { after, filter })
    return { status: 200, body: { data: lines.map((line) => JSON.stringify(line)), next } }
  },

  async replaceAuditKey(ctx, { body: { reason } }) {
    const { head, tied } = await ctx.audit.replaceKey({ reason, by: ctx.actor.by })
    return { status: 201, body: { tied, ordinal: head.ordinal, publicKey: publicPem(head.key) } }
  },
}
