import type { z } from 'zod'

type Method = 'GET' | 'POST' | 'PUT' | 'DELETE'

/** One operation of an HTTP interface as data. Route, validation, typed client, permission check and document are all read from it. */
export type Operation = {
  readonly method: Method
  /** Below the base address, with `:name` for path parameters. */
  readonly path: string
  readonly summary: string
  readonly description?: string
  /** The key a caller must hold; with several, any one of them suffices. */
  readonly permission?: string | readonly string[]
  /** The feature the account's plan must include. */
  readonly entitlement?: string
  readonly params?: z.ZodObject
  /** As values: how numbers, booleans and lists become text is left to the two ends of the wire. */
  readonly query?: z.ZodObject
  readonly body?: z.ZodType
  /** For a body that is an array whose items the handler judges one by one: what an item should look like. */
  readonly item?: z.ZodType
  /** Whether the body may also come as `multipart/form-data`. */
  readonly takesForms?: boolean
  /** Whether the body is a stream of bytes, and nothing else. It is then handed on while it arrives. */
  readonly takesBytes?: boolean
  /** For an answer that is a stream of server-sent events: what each of them is. */
  readonly streams?: z.ZodType
  /** Body by success status; null where the answer has no body. */
  readonly success: Readonly<Record<number, z.ZodType | null>>
  /** The statuses besides success that the operation lists. */
  readonly errors: readonly number[]
}

/** What a stream of bytes is sent as. */
export const bytesType = 'application/octet-stream'

/** The operations of an area by their names. */
export type OperationTable = Readonly<Record<string, Operation>>

/** Declares an area's operations, keeping each member's exact type. */
export function operations<const T extends OperationTable>(table: T): T {
  return table
}

/** A request as a document shows it. */
export type Example = {
  readonly params?: Readonly<Record<string, string | number | FirstOf>>
  readonly query?: Readonly<Record<string, unknown>>
  /** Each under what it is about; all of them succeed, one after the other. */
  readonly bodies?: Readonly<Record<string, unknown>>
}

/** The id of the first entry of the list that this operation answers: ids that are random have no example. */
export type FirstOf = { readonly firstOf: string }

type InputPart = 'params' | 'query' | 'body'

/** What a handler receives: parsed `params`, `query` and `body`, each only where the operation has it. */
export type InputOf<O extends Operation> = {
  readonly [P in InputPart as O[P] extends z.ZodType ? P : never]: O[P] extends z.ZodType ? z.output<O[P]> : never
}

/** What a client's caller passes: the same three, before parsing. A part without a required value is optional. */
export type ArgumentsOf<O extends Operation> = {
  readonly [P in InputPart as O[P] extends z.ZodType
    ? IsOptional<ArgumentOf<O, P>> extends true
      ? never
      : P
    : never]: ArgumentOf<O, P>
} & {
  readonly [P in InputPart as O[P] extends z.ZodType
    ? IsOptional<ArgumentOf<O, P>> extends true
      ? P
      : never
    : never]?: ArgumentOf<O, P>
}

type ArgumentOf<O extends Operation, P extends InputPart> = P extends 'body'
  ? O['item'] extends z.ZodType
    ? readonly z.input<O['item']>[]
    : InputOfSchema<O[P]>
  : InputOfSchema<O[P]>

type InputOfSchema<S> = S extends z.ZodType ? z.input<S> : never

type IsOptional<V> = Record<never, never> extends V ? true : false

/** What a handler answers with; refusals are thrown. */
export type ReplyOf<O extends Operation> = {
  [S in keyof O['success'] & number]: O['success'][S] extends z.ZodType
    ? { readonly status: S; readonly body: z.input<O['success'][S]> }
    : { readonly status: S }
}[keyof O['success'] & number]
