import type { Writable } from 'node:stream'
import { Agent } from 'undici'
import { Failure } from '../../errors.ts'
import { remoteCalls, type Unsuccessful } from '../../http/client/remote-calls.ts'
import { openPlatformDatabase } from '../core/database.ts'
import { operatorOperations } from './contract.ts'
import { fetchExport } from './fetch-export.ts'
import { databaseOperator, type Operator } from './operator.ts'
import { readService } from './service-file.ts'

type OpenedOperator = { readonly operator: Operator } & AsyncDisposable

/** Where the commands of `rollcall platform` find the platform: a database, or a running platform. */
type OperatorTarget = {
  readonly database: string
  readonly url?: string
  readonly token?: string
}

/** Connects to the platform at `url`, or else opens the database. If a running platform has locked the folder, connects to that platform. */
export async function openOperator({ database, url, token }: OperatorTarget): Promise<OpenedOperator> {
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

function remoteOperator(url: string, token: string): OpenedOperator {
  const dispatcher = new Agent()
  const calls = remoteCalls(operatorOperations, { baseUrl: url, bearer: token, dispatcher }, (response) =>
    failureOf(response, url),
  )
  const operator = { ...calls, writeExport: (sink: Writable) => fetchExport({ url, token, dispatcher, sink }) }
  return { operator, [Symbol.asyncDispose]: () => dispatcher.close() }
}

function failureOf(response: Unsuccessful, url: string): Failure {
  switch (response.status) {
    case 'unreachable':
      return new Failure('platform_unreachable', `the platform at ${url} does not answer: ${response.message}`)
    case 'undeclared':
    case 'unreadable':
      return new Failure('platform_unreachable', `what answers at ${url} is no platform (HTTP ${response.httpStatus})`)
    case 400:
      return new Failure('usage', response.error.message)
    case 401:
      return new Failure('blocked', `the platform at ${url} does not accept this operator token`)
    case 404:
      return new Failure('not_found', response.error.message)
    case 409:
      return new Failure('conflict', response.error.message)
    default:
      return new Failure('platform_unreachable', `the platform at ${url} failed; its log says why`)
  }
}
