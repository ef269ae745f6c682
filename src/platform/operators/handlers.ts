import type { Handlers } from '../../http/server/mount.ts'
import {
  acceptTerms,
  createAccount,
  findAccount,
  grantEntitlements,
  listAccounts,
  revokeEntitlements,
  showAccount,
} from '../accounts/accounts.ts'
import { createKey, listKeys, revokeKey } from '../accounts/api-keys.ts'
import { syncIdentities } from '../identity-sync/identity-sync.ts'
import { seed } from '../seed/seed.ts'
import { auditHandlers } from './audit-handlers.ts'
import type { OperatorContext } from './context.ts'
import type { operatorOperations } from './contract.ts'
import { groupHandlers } from './group-handlers.ts'
import { createOperator, listOperators, removeOperator, setOperatorPassword } from './operators.ts'

/** The handlers of the operator's API. They throw a `Failure`. */
export const operatorHandlers: Handlers<typeof operatorOperations, OperatorContext> = {
  async createAccount({ db, now }, { body }) {
    return { status: 201, body: await createAccount(db, body, now()) }
  },
  async listAccounts({ db, now }) {
    return { status: 200, body: { data: await listAccounts(db, now()) } }
  },
  async showAccount({ db, now }, { params }) {
    return { status: 200, body: await showAccount(db, params.account, now()) }
  },
  async acceptTerms({ db, now }, { params }) {
    return { status: 200, body: await acceptTerms(db, params.account, now()) }
  },
  async grantEntitlements({ db, now }, { params, body }) {
    return { status: 200, body: await grantEntitlements(db, { ...params, ...body, now: now() }) }
  },
  async revokeEntitlements({ db, now }, { params, body }) {
    return { status: 200, body: await revokeEntitlements(db, { ...params, ...body, now: now() }) }
  },
  async createKey({ db, now }, { body }) {
    return { status: 201, body: await createKey(db, body, now()) }
  },
  async listKeys({ db, now }) {
    return { status: 200, body: { data: await listKeys(db, now()) } }
  },
  async revokeKey({ db, now }, { params }) {
    await revokeKey(db, params.keyId, now())
    return { status: 204 }
  },
  async syncIdentities({ db, now }, { body }) {
    const { id: accountId } = await findAccount(db, body.account)
    return { status: 201, body: await syncIdentities(db, { accountId, trigger: 'operator', now }) }
  },
  async seed({ db, now }, { body }) {
    return { status: 201, body: await seed(db, body, now()) }
  },
  async createOperator({ db, now }, { body }) {
    return { status: 201, body: await createOperator(db, body, now()) }
  },
  async listOperators({ db }) {
    return { status: 200, body: { data: await listOperators(db) } }
  },
  async setOperatorPassword({ db }, { params, body }) {
    await setOperatorPassword(db, { name: params.operatorName, password: body.password })
    return { status: 204 }
  },
  async removeOperator({ db }, { params }) {
    await removeOperator(db, params.operatorName)
    return { status: 204 }
  },
  ...auditHandlers,
  ...groupHandlers,
}
