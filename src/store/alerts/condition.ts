import { pluralizePeople } from '../../identity/pluralize.ts'
import type { Db } from '../schema.ts'

/** The kinds of conditions, in the order in which they are listed. */
export const conditionKinds = [
  'blocked',
  'overdue',
  'repeated',
  'held',
  'expiring',
  'run_failed',
  'problems',
  'unaccounted',
  'blockedPeople',
  'foreign',
  'leaver_late',
  'emergency',
  'stated_departures',
  'not_effective',
  'directory',
  'stale',
  'paused',
  'hr_mail',
  'settings_differ',
] as const
/** What kind of condition an alert is about. */
export type ConditionKind = (typeof conditionKinds)[number]

/** Something that an operator should look at. A connection has at most one condition of each kind. */
export type Condition = {
  readonly connection: string
  readonly kind: ConditionKind
  /** Distinguishes causes of one kind. */
  readonly code: string | null
  readonly reason: string
  readonly since: Date
  /** How many people wait for this reason, and how many of them have left or have a leaving date to be corrected. */
  readonly people: number | null
  readonly leavers: number | null
  readonly runId: string | null
}

/** What the checks compare with. */
export type ConditionSettings = {
  /** The connections of the configuration. */
  readonly connections: readonly string[]
  /** How long deliveries may fail, or wait for a worker. */
  readonly overdueMinutes: number
  /** How long a connection may be paused before that is an alert. */
  readonly pausedHours: number
  /** Required freshness, for the connections that have a schedule. */
  readonly freshness: readonly Freshness[]
  /** The connections that are pushed over SCIM. Default: none. */
  readonly pushed?: readonly PushedFreshness[]
  /**
   * By connection, the maximum number of hours until the platform acknowledges a departure. Connections without a limit have no late
   * leavers.
   */
  readonly maxLeaverHours: ReadonlyMap<string, number>
  /** How many people of a connection may have another status on the platform than HR's data implies. Default: none. */
  readonly maxNotEffective?: number
  /** After how many nights in which HR states a person as employed, whom an operator states as left, that is an alert. Default: 3. */
  readonly contradictedNights?: number
  /** The connections without the rule of two people. Default: none. */
  readonly connectionsWithoutTwoPeople?: readonly string[]
  /** The lists of accounts of the configuration. */
  readonly directories?: readonly string[]
  /** How many enabled accounts of leavers, or of people whom HR does not know, a directory may have. Default: none. */
  readonly maxGhosts?: number
  /** The connections whose faults are mailed to HR. Default: none. */
  readonly connectionsWithHrMails?: readonly string[]
  /** The connections that the weekly summary is about. Default: none. */
  readonly connectionsWithWeeklyMails?: readonly string[]
  readonly now: Date
}

/** How fresh the data from HR of a connection has to be. */
export type Freshness = {
  readonly connection: string
  /** The source has to have been read to its end at this time or later. */
  readonly readSince: Date
  /** Minimum time of the facts that were read; null: not checked. */
  readonly asOfSince: Date | null
  /** Whether a read that found nothing new is sufficient. */
  readonly acceptsUnchanged: boolean
}

/** When the sender of a connection has to have sent a request. */
type PushedFreshness = { readonly connection: string; readonly requestedSince: Date }

/** Finds the conditions of one kind. */
export type Find = (db: Db, settings: ConditionSettings) => Promise<Condition[]>

/** How many people wait, and how many of them are leavers. */
export type WaitingCounts = { readonly people: number; readonly leavers: number }

/** A time for a reader, to the minute. */
export function minute(at: Date): string {
  return `${at.toISOString().slice(0, 16).replace('T', ' ')} UTC`
}

/** How many people wait, as a text. */
export function peopleText({ people, leavers }: WaitingCounts): string {
  const all = pluralizePeople(people)
  return leavers === 0 ? all : `${all} (${leavers} ${leavers === 1 ? 'leaver' : 'leavers'})`
}
