import { Agent } from 'undici'
import { Failure } from '../../errors.ts'
import type { AnswerError, Undeclared, Unreachable, Unreadable } from '../../http/answer.ts'
import { createClient } from '../../http/client.ts'
import { fetchExport } from './fetch-export.ts'
import { databaseOperator, type Operator } from './operator.ts'
import { operatorOperations } from './contract.ts'
import { readService } from './service-file.ts'
import { openPlatformDatabase } from '../core/database.ts'

type Access = { readonly operator: Operator } & AsyncDisposable

/** Where the operator's functions are to act: on a database, or on a running platform. */
export type OperatorPlace = {
  readonly database: string
  readonly url?: string | undefined
  readonly token?: string | undefined
}

/** Reaches the platform at `url` where one is given, else the database; a folder that a running platform holds is reached through that platform. */
export async function openOperator({ database, url, token }: OperatorPlace): Promise<Access> {
  if (url !== undefined) return remoteOperator(url, token ?? missingToken())
  try {
    const opened = await openPlatformDatabase(database)
    return { operator: databaseOperator(opened.db), [Symbol.asyncDispose]: () => opened[Symbol.asyncDispose]() }
  } catch (error) {
    const service = error instanceof Failure && error.code === 'already_active' ? await readService(database) : null
    if (!service) throw error
    return remoteOperator(service.operatorUrl, service.token)
  }
}

function missingToken(): never {
  throw new Failure('usage', '--url needs the operator token of that platform in PLATFORM_OPERATOR_TOKEN')
}

function remoteOperator(url: string, token: string): Access {
  const dispatcher = new Agent()
  const client = createClient(operatorOperations, { baseUrl: url, bearer: token, dispatcher })
  const operator: Operator = {
    async createAccount(body) {
      const answer = await client.createAccount({ body })
      return answer.status === 201 ? answer.body : fail(url, answer)
    },
    async listAccounts() {
      const answer = await client.listAccounts({})
      return answer.status === 200 ? answer.body.data : fail(url, answer)
    },
    async showAccount(account) {
      const answer = await client.showAccount({ params: { account } })
      return answer.status === 200 ? answer.body : fail(url, answer)
    },
    async acceptTerms(account) {
      const answer = await client.acceptTerms({ params: { account } })
      return answer.status === 200 ? answer.body : fail(url, answer)
    },
    async grantEntitlements(account, names) {
      const answer = await client.grantEntitlements({ params: { account }, body: { names: [...names] } })
      return answer.status === 200 ? answer.body : fail(url, answer)
    },
    async revokeEntitlements(account, names) {
      const answer = await client.revokeEntitlements({ params: { account }, body: { names: [...names] } })
      return answer.status === 200 ? answer.body : fail(url, answer)
    },
    async createKey(body) {
      const answer = await client.createKey({ body })
      return answer.status === 201 ? answer.body : fail(url, answer)
    },
    async listKeys() {
      const answer = await client.listKeys({})
      return answer.status === 200 ? answer.body.data : fail(url, answer)
    },
    async revokeKey(keyId) {
      const answer = await client.revokeKey({ params: { keyId } })
      if (answer.status !== 204) fail(url, answer)
    },
    async syncIdentities(account) {
      const answer = await client.syncIdentities({ body: { account } })
      return answer.status === 201 ? answer.body : fail(url, answer)
    },
    async seed(body) {
      const answer = await client.seed({ body })
      return answer.status === 201 ? answer.body : fail(url, answer)
    },
    writeExport: (sink) => fetchExport({ url, token, dispatcher, sink }),
    async createAudit(body) {
      const answer = await client.createAudit({ body })
      return answer.status === 201 ? answer.body : fail(url, answer)
    },
    async setAuditStatus(auditId, body) {
      const answer = await client.setAuditStatus({ params: { auditId }, body })
      return answer.status === 200 ? answer.body : fail(url, answer)
    },
    async createAuditRequest(auditId, body) {
      const answer = await client.createAuditRequest({ params: { auditId }, body })
      return answer.status === 201 ? answer.body : fail(url, answer)
    },
    async setAuditRequestStatus(requestId, body) {
      const answer = await client.setAuditRequestStatus({ params: { requestId }, body })
      return answer.status === 200 ? answer.body : fail(url, answer)
    },
    async addAuditRequestMessage(requestId, body) {
      const answer = await client.addAuditRequestMessage({ params: { requestId }, body })
      return answer.status === 201 ? answer.body : fail(url, answer)
    },
    async createOperator(body) {
      const answer = await client.createOperator({ body })
      return answer.status === 201 ? answer.body : fail(url, answer)
    },
    async listOperators() {
      const answer = await client.listOperators({})
      return answer.status === 200 ? answer.body.data : fail(url, answer)
    },
    async setOperatorPassword({ name, password }) {
      const answer = await client.setOperatorPassword({ params: { operatorName: name }, body: { password } })
      if (answer.status !== 204) fail(url, answer)
    },
    async removeOperator(name) {
      const answer = await client.removeOperator({ params: { operatorName: name } })
      if (answer.status !== 204) fail(url, answer)
    },
  }
  return { operator, [Symbol.asyncDispose]: () => dispatcher.close() }
}

type Refused =
  | { readonly status: 400 | 401 | 404 | 409 | 500; readonly error: AnswerError }
  | Undeclared
  | Unreadable
  | Unreachable

function fail(url: string, answer: Refused): never {
  switch (answer.status) {
    case 400:
      throw new Failure('usage', answer.error.message)
    case 401:
      throw new Failure('blocked', `the platform at ${url} does not accept this operator token`)
    case 404:
      throw new Failure('not_found', answer.error.message)
    case 409:
      throw new Failure('conflict', answer.error.message)
    case 500:
      throw new Failure('platform_unreachable', `the platform at ${url} failed; its log says why`)
    case 'undeclared':
    case 'unreadable':
      throw new Failure('platform_unreachable', `what answers at ${url} is no platform (HTTP ${answer.httpStatus})`)
    case 'unreachable':
      throw new Failure('platform_unreachable', `the platform at ${url} does not answer: ${answer.message}`)
    default:
      return answer satisfies never
  }
}
