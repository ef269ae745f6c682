import { pointer } from '../../../../src/connectors/json/cells.ts'
import { credentials } from '../credentials.ts'
import { fullName } from '../csv.ts'
import { numberKeys } from '../keys.ts'
import { offsetPages } from '../pages.ts'
import { jsonOf, Refusal, type SystemRequest } from '../protocol.ts'
import type { Person } from '../roster.ts'
import type { HrSystem } from '../system.ts'

const keyOf = numberKeys(41_101)

/** Odoo: JSON-RPC with the key in the body. Errors are answers with status 200; values that do not exist are false. */
export const odoo: HrSystem = {
  name: 'odoo-api',
  authentication: () => ({ check: checkCall }),
  lists: [
    {
      method: 'POST',
      path: '/jsonrpc',
      shape: employeeOf,
      includes: ({ employment }, request) =>
        employment !== 'left' || pointer(jsonOf(request), '/params/args/6/context/active_test') === false,
      pages: offsetPages({
        parameter: '/params/args/6/offset',
        sizeParameter: '/params/args/6/limit',
        defaultSize: 80,
        maxSize: 100_000,
        exceeded: 'clamp',
      }),
      write: ({ records }) => ({ status: 200, body: { jsonrpc: '2.0', id: null, result: records } }),
    },
  ],
  keyOf,
  facts: ['email', 'secondaryEmail', 'jobTitle', 'managerId', 'managerName', 'startedAt', 'leavingDate'],
  total: null,
  maxPageSize: 500,
}

function checkCall(request: SystemRequest): void {
  const body = jsonOf(request)
  const at = (path: string) => pointer(body, path)
  if (at('/method') !== 'call' || at('/params/method') !== 'execute_kw') throw rpcError(404, 'Unknown method')
  const [database, key] = [at('/params/args/0'), at('/params/args/2')]
  if (database !== credentials.company || key !== credentials.apiKey || Number(at('/params/args/1')) !== 7)
    throw rpcError(100, 'Access Denied')
  if (at('/params/args/3') !== 'hr.employee' || at('/params/args/4') !== 'search_read')
    throw rpcError(200, 'Unknown model')
}

function rpcError(code: number, message: string): Refusal {
  return new Refusal(200, {
    jsonrpc: '2.0',
    id: null,
    error: { code, message: 'Odoo Server Error', data: { message } },
  })
}

function employeeOf(person: Person): unknown {
  const { email, privateEmail, title, manager, start, end, employment } = person
  return {
    id: Number(keyOf(person)),
    name: fullName(person),
    work_email: email,
    private_email: privateEmail,
    job_title: title,
    parent_id: manager ? [Number(keyOf(manager)), fullName(manager)] : false,
    first_contract_date: start.toString(),
    departure_date: end?.toString() ?? false,
    active: employment !== 'left',
  }
}
