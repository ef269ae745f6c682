import type { keyOperations } from '../../contract/control/keys.ts'
import type { Handlers } from '../../http/server/mount.ts'
import type { SyncContext } from '../../sync/context/context.ts'
import { answerKeys, answerPairs, listKeys, withdrawAnswer } from '../../sync/requests/key-answers.ts'
import type { WithActor } from './with-permissions.ts'

/** Handlers of the operations about keys that HR has issued again. */
export const keyHandlers: Handlers<typeof keyOperations, { readonly sync: SyncContext } & WithActor> = {
  async listKeys({ sync }, { params: { connection }, query: { limit } }) {
    const { answers, pairs } = await listKeys(sync, { connection, limit })
    const answerViews = answers.map(({ answeredAt, ...answer }) => ({ ...answer, at: answeredAt.toISOString() }))
    return { status: 200, body: { pairs, answers: answerViews } }
  },

  async answerKeys({ sync, actor: { by } }, { params, body }) {
    return { status: 200, body: await answerKeys(sync, { ...params, ...body, by }) }
  },

  async withdrawKeys({ sync, actor: { by } }, { params, body }) {
    return { status: 200, body: await withdrawAnswer(sync, { ...params, ...body, by }) }
  },

  async answerPairs({ sync, actor: { by } }, { params, body }) {
    return { status: 200, body: await answerPairs(sync, { ...params, ...body, by }) }
  },
}
