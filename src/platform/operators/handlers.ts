import { timingSafeEqual } from 'node:crypto'
import type { FastifyRequest } from 'fastify'
import { Failure } from '../../errors.ts'
import type { Handlers } from '../../http/mount.ts'
import { Refusal } from '../../http/refusal.ts'
import { bearerToken } from '../accounts/authorize.ts'
import type { Operator } from './operator.ts'
import type { operatorOperations } from './contract.ts'

export const operatorHandlers: Handlers<typeof operatorOperations, Operator> = {
  async createAccount(operator, { body }) {
    return { status: 201, body: await refusing(operator.createAccount(body)) }
  },
  async listAccounts(operator) {
    return { status: 200, body: { data: await operator.listAccounts() } }
  },
  async showAccount(operator, { params }) {
    return { status: 200, body: await refusing(operator.showAccount(params.account)) }
  },
  async acceptTerms(operator, { params }) {
    return { status: 200, body: await refusing(operator.acceptTerms(params.account)) }
  },
  async grantEntitlements(operator, { params, body }) {
    return { status: 200, body: await refusing(operator.grantEntitlements(params.account, body.names)) }
  },
  async revokeEntitlements(operator, { params, body }) {
    return { status: 200, body: await refusing(operator.revokeEntitlements(params.account, body.names)) }
  },
  async createKey(operator, { body }) {
    return { status: 201, body: await refusing(operator.createKey(body)) }
  },
  async listKeys(operator) {
    return { status: 200, body: { data: await operator.listKeys() } }
  },
  async revokeKey(operator, { params }) {
    await refusing(operator.revokeKey(params.keyId))
    return { status: 204 }
  },
  async syncIdentities(operator, { body }) {
    return { status: 201, body: await refusing(operator.syncIdentities(body.account)) }
  },
  async seed(operator, { body }) {
    return { status: 201, body: await refusing(operator.seed(body)) }
  },
  async createAudit(operator, { body }) {
    return { status: 201, body: await refusing(operator.createAudit(body)) }
  },
  async setAuditStatus(operator, { params, body }) {
    return { status: 200, body: await refusing(operator.setAuditStatus(params.auditId, body)) }
  },
  async createAuditRequest(operator, { params, body }) {
    return { status: 201, body: await refusing(operator.createAuditRequest(params.auditId, body)) }
  },
  async setAuditRequestStatus(operator, { params, body }) {
    return { status: 200, body: await refusing(operator.setAuditRequestStatus(params.requestId, body)) }
  },
  async addAuditRequestMessage(operator, { params, body }) {
    return { status: 201, body: await refusing(operator.addAuditRequestMessage(params.requestId, body)) }
  },
  async createOperator(operator, { body }) {
    return { status: 201, body: await refusing(operator.createOperator(body)) }
  },
  async listOperators(operator) {
    return { status: 200, body: { data: await operator.listOperators() } }
  },
  async setOperatorPassword(operator, { params, body }) {
    await refusing(operator.setOperatorPassword({ name: params.operatorName, password: body.password }))
    return { status: 204 }
  },
  async removeOperator(operator, { params }) {
    await refusing(operator.removeOperator(params.operatorName))
    return { status: 204 }
  },
}

/** Lets in whoever presents `token`. */
export function requireToken(request: FastifyRequest, token: string): void {
  const given = Buffer.from(bearerToken(request.headers.authorization) ?? '')
  const wanted = Buffer.from(token)
  if (given.length === wanted.length && timingSafeEqual(given, wanted)) return
  throw new Refusal(401, 'Unauthorized: the operator token is missing or wrong', {
    headers: { 'www-authenticate': 'Bearer' },
  })
}

// What an operator can act on keeps its message; anything else is a fault of the server.
async function refusing<T>(work: Promise<T>): Promise<T> {
  try {
    return await work
  } catch (error) {
    if (error instanceof Failure && error.code === 'usage') throw new Refusal(400, error.message)
    if (error instanceof Failure && error.code === 'not_found') throw new Refusal(404, error.message)
    if (error instanceof Failure && error.code === 'conflict') throw new Refusal(409, error.message)
    throw error
  }
}
