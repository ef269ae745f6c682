import type { BlockedPerson, Problem, Run, Status } from '../../contract/control/shapes.ts'
import type { Scrub } from './scrub.ts'

const maxPeoplePerCause = 10

/** A run in numbers, without texts that a person or a source wrote. */
export function runPart(run: Run, scrub: Scrub) {
  const { id, connection, trigger, feed, mode, state, failure, counts, rows, records, sent, confirmed, problems } = run
  const { remaining, blockedPeople, inDoubt, createdAt, startedAt, finishedAt, expiresAt, durationMs, configuration } =
    run
  return {
    ...{
      id,
      connection,
      trigger,
      feed,
      mode,
      state,
      failure,
      counts,
      rows,
      records,
      sent,
      confirmed,
      problems,
      remaining,
    },
    ...{ blockedPeople, inDoubt, createdAt, startedAt, finishedAt, expiresAt, durationMs, configuration },
    decidedBy: run.decidedBy === null ? null : scrub.person(run.decidedBy),
    moved: run.moved !== null,
    heldPart: run.heldPart,
    wentOn: run.wentOn,
    source: run.source && { bytes: run.source.bytes, textBytes: run.source.textBytes },
    warnings: run.warnings.length,
    guards: run.guards?.map(({ name, actual, limit, ok, taints }) => ({ name, actual, limit, ok, taints })) ?? null,
    verification: run.verification && { ...run.verification, people: undefined },
  }
}

/** The status without texts of people or sources. */
export function statusPart({ version, daemon, connections, alerts, unsigned }: Status, scrub: Scrub) {
  return {
    version,
    daemon,
    unsigned: unsigned === undefined ? null : scrub.text(unsigned),
    alerts: alerts.map(({ connection, kind, code, since, people, leavers, runId, notified }) => ({
      ...{ connection, kind, code, since, people, leavers, runId },
      notified: notified.map(({ channel, sent, notifiedAt, nextAt, lastFailure }) => ({
        ...{ channel, sent, notifiedAt, nextAt },
        failed: lastFailure !== null,
      })),
    })),
    connections: connections.map(({ blocked, active, last, target: _, ...rest }) => ({
      ...{ ...rest, paused: rest.paused && { since: rest.paused.since, until: rest.paused.until } },
      blocked: blocked && {
        status: blocked.status,
        code: blocked.code,
        since: blocked.since,
        probeAt: blocked.probeAt,
      },
      active: active && runPart(active, scrub),
      last: last && runPart(last, scrub),
    })),
  }
}

/** People whom the platform refuses or who cannot be delivered, by cause: how many, and some of them under a pseudonym. */
export function problemsPart(problems: readonly Problem[], scrub: Scrub) {
  return byCause(
    problems,
    ({ connection, kind, state, code, status, leaver }) => ({ connection, kind, state, code, status, leaver }),
    scrub,
  )
}

/** Unreadable rows and cells by column, and rows that contradict themselves. */
export function blockedPeoplePart(blockedPeople: readonly BlockedPerson[], scrub: Scrub) {
  return byCause(
    blockedPeople,
    ({ connection, column, cellOnly, contradicts, leaver, accepted }) => ({
      ...{ connection, column, cellOnly, contradicts, leaver, accepted },
    }),
    scrub,
  )
}

function byCause<T extends { readonly identityId: string | null; readonly firstAt: string }>(
  all: readonly T[],
  causeOf: (one: T) => object,
  scrub: Scrub,
) {
  const groups = Map.groupBy(all, (one) => JSON.stringify(causeOf(one)))
  return [...groups].map(([cause, group]) => ({
    ...(JSON.parse(cause) as object),
    count: group.length,
    since: group
      .map(({ firstAt }) => firstAt)
      .sort()
      .at(0),
    people: group
      .slice(0, maxPeoplePerCause)
      .flatMap(({ identityId }) => (identityId === null ? [] : [scrub.person(identityId)])),
  }))
}
