import type { ExceptionResponse, NamedExceptionResponse } from '../contract/platform/common.ts'

/** Every kind of refusal with its status and its stable number. Numbers are never reused. */
export const refusalKinds = {
  BadRequest: { status: 400, code: 14000 },
  MalformedBody: { status: 400, code: 14001 },
  InvalidInput: { status: 400, code: 14003 },
  MalformedAddress: { status: 400, code: 14004 },
  MalformedRequest: { status: 400, code: 14005 },
  SchemaMismatch: { status: 400, code: 28022 },
  Unauthorized: { status: 401, code: 14010 },
  EntitlementMissing: { status: 402, code: 14020 },
  Forbidden: { status: 403, code: 14030 },
  NotFound: { status: 404, code: 14040 },
  UnknownPath: { status: 404, code: 14041 },
  MethodNotAllowed: { status: 405, code: 14050 },
  TooSlow: { status: 408, code: 14080 },
  Conflict: { status: 409, code: 14090 },
  PERSONNEL_NOT_ACTIVE: { status: 409, code: 14091 },
  PERSONNEL_IS_FUTURE_HIRE: { status: 409, code: 14092 },
  PERSONNEL_IS_FORMER: { status: 409, code: 14093 },
  PERSONNEL_IS_OUT_OF_SCOPE: { status: 409, code: 14094 },
  BACKGROUND_CHECK_ALREADY_STARTED: { status: 409, code: 14095 },
  TermsNotAccepted: { status: 412, code: 14120 },
  TooLarge: { status: 413, code: 14130 },
  UnsupportedMediaType: { status: 415, code: 14002 },
  Misdirected: { status: 421, code: 14211 },
  Unprocessable: { status: 422, code: 14220 },
  TooManyRequests: { status: 429, code: 14290 },
  HeadersTooLarge: { status: 431, code: 14310 },
  InternalError: { status: 500, code: 15000 },
  NotImplemented: { status: 501, code: 15010 },
  Unavailable: { status: 503, code: 15030 },
} as const satisfies Readonly<Record<string, { status: number; code: number }>>

/** A kind of refusal. It determines status and name. */
export type RefusalKind = keyof typeof refusalKinds

// Statuses about the caller or the server. The others are about the request and also have a name.
const namelessStatuses: ReadonlySet<number> = new Set([401, 402, 403, 412, 429, 500])

/** Thrown by a handler to answer with an error status. The message is for the caller: no secrets, no personal data. */
export class Refusal extends Error {
  readonly status: number
  readonly code: number
  readonly kind: string
  readonly headers: Readonly<Record<string, string>>

  /** Without `code` and `name`, the refusal is of the first kind with this status. */
  constructor(
    status: number,
    message: string,
    options: {
      readonly code?: number
      readonly name?: string
      readonly headers?: Readonly<Record<string, string>>
    } = {},
  ) {
    super(message)
    const usual = usualKind(status)
    this.status = status
    this.code = options.code ?? usual.code
    this.kind = options.name ?? usual.name
    this.headers = options.headers ?? {}
  }

  override get name(): string {
    return 'Refusal'
  }
}

/** A refusal of one kind of the table. */
export function refuse(kind: RefusalKind, message: string, status: number = refusalKinds[kind].status): Refusal {
  return new Refusal(status, message, { code: refusalKinds[kind].code, name: kind })
}

/** The body of a refusal in the form of the contract for its status. */
export function refusalBody({ status, message, code, kind }: Refusal): ExceptionResponse | NamedExceptionResponse {
  if (namelessStatuses.has(status)) return { statusCode: status, message, code }
  return { statusCode: status, message, code, name: kind }
}

/** Whether the contract's error body of a status contains the kind's name. */
export function isNamedStatus(status: number): boolean {
  return !namelessStatuses.has(status)
}

function usualKind(status: number): { name: string; code: number } {
  for (const [name, kind] of Object.entries(refusalKinds)) {
    if (kind.status === status) return { name, code: kind.code }
  }
  return { name: `Status${status}`, code: 10_000 + status }
}
