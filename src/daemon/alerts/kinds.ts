import type { AlertKind } from '../../contract/control/alerts.ts'
import type { Alert } from '../../store/alerts/alerts.ts'

/** What a link or a command is about. */
export type LinkedAlert = Pick<Alert, 'id' | 'connection' | 'kind' | 'code' | 'runId'>

/** What is wrong, and what follows. */
type AlertTexts = {
  /** What is wrong, in a few words: the subject of a message. */
  readonly headline: string
  /** What happens if nobody acts: one sentence or two. */
  readonly consequence: string
}

/** What messages say about alerts of one kind. */
type KindTexts = AlertTexts & {
  /** The texts of the causes of which those of the kind are untrue, by `code`. */
  readonly byCode?: Readonly<Partial<Record<string, AlertTexts>>>
  /** The path of the console's page with the button that helps, or with what has to be looked at. */
  readonly page: (alert: LinkedAlert) => string
  /** The command that shows more, or that helps. */
  readonly command: (alert: LinkedAlert) => string
  /** How soon a person has to know. Night duty is called for `page`. */
  readonly urgency: 'page' | 'work hours'
}

/** Every kind of alert. docs/alerts.md has the same sentences. */
export const alertKinds: Readonly<Record<AlertKind, KindTexts>> = {
  blocked: {
    headline: 'the platform refuses all requests',
    consequence: 'Nothing of this connection is sent, so its leavers stay employed on the platform.',
    page: ({ connection }) => `/connections/${encodeURIComponent(connection)}/unblock`,
    command: () => 'rollcall status',
    urgency: 'page',
  },
  overdue: {
    headline: 'deliveries are late',
    consequence: 'Rollcall tries again; until it succeeds, leavers who wait stay employed on the platform.',
    page: aboutConnection('/problems'),
    command: ofConnection('problems'),
    urgency: 'page',
  },
  repeated: {
    headline: 'a batch keeps failing',
    consequence: 'The people of this batch stay undelivered.',
    page: runPage,
    command: ofRun,
    urgency: 'page',
  },
  held: {
    headline: 'a plan waits for an approval',
    consequence: 'The held changes are not sent, and later ones of the same people may wait behind them.',
    page: decisionPage,
    command: ofRun,
    urgency: 'page',
  },
  expiring: {
    headline: 'a held plan expires',
    consequence: 'The plan can no longer be approved, and its changes wait for a new run.',
    page: (alert) => (alert.code === 'expired' ? syncPage(alert) : decisionPage(alert)),
    command: ofRun,
    urgency: 'page',
  },
  run_failed: {
    headline: 'a run failed',
    consequence: 'Whoever left since the last successful run stays employed on the platform until a run succeeds.',
    page: runPage,
    command: ofRun,
    urgency: 'page',
  },
  problems: {
    headline: 'the platform refuses leaving dates',
    consequence: 'These leavers stay employed on the platform.',
    page: aboutConnection('/problems'),
    command: ofConnection('problems'),
    urgency: 'page',
  },
  blockedPeople: {
    headline: 'people may have left, and the platform does not know',
    consequence: 'They stay employed on the platform, although they may have left.',
    page: aboutConnection('/problems', '#blocked-people'),
    command: ofConnection('problems'),
    urgency: 'work hours',
  },
  foreign: {
    headline: 'people are on the platform but unknown to HR',
    consequence: 'They stay employed on the platform: Rollcall sends nothing about people whom no export states.',
    page: aboutConnection('/problems', '#foreign'),
    command: ofConnection('problems'),
    urgency: 'work hours',
  },
  unaccounted: {
    headline: 'not everybody is accounted for',
    consequence:
      'A person who was lost between HR and the platform stays lost, and an auditor finds a night that does not add up.',
    page: ({ connection }) => `/connections/${encodeURIComponent(connection)}/statement`,
    command: ofConnection('statement'),
    urgency: 'page',
  },
  leaver_late: {
    headline: 'departures are late',
    consequence: 'These leavers stay employed on the platform, and the report of leavers shows them as late.',
    page: aboutConnection('/problems'),
    command: () => 'rollcall report leavers',
    urgency: 'page',
  },
  emergency: {
    headline: 'a departure was stated by one person alone',
    consequence: 'The departure applies although only one person stated it.',
    page: aboutConnection('/problems', '#stated'),
    command: ofConnection('leave'),
    urgency: 'page',
  },
  stated_departures: {
    headline: 'departures stated by operators need a decision',
    consequence:
      'A person whose departure is not sent stays employed. A departure that HR contradicts, or that somebody wants to change, still applies.',
    page: aboutConnection('/problems', '#stated'),
    command: ofConnection('leave'),
    urgency: 'work hours',
  },
  not_effective: {
    headline: "the status of people on the platform does not match HR's data",
    consequence: 'The platform keeps treating them wrongly: leavers as employed, and joiners as unknown.',
    byCode: {
      not_compared: {
        headline: 'people could not be compared with the platform',
        consequence: 'Nobody learns whose status on the platform is wrong, including leavers.',
      },
    },
    page: aboutConnection('/effective'),
    command: ofConnection('effective'),
    urgency: 'work hours',
  },
  directory: {
    headline: "accounts do not match HR's data",
    consequence: 'Accounts of people who have left stay enabled.',
    byCode: {
      refused: {
        headline: 'accounts could not be compared with HR',
        consequence: 'Nobody learns which accounts of people who have left stay enabled.',
      },
    },
    page: aboutConnection('/effective'),
    command: ({ connection }) => `rollcall effective --directory ${connection}`,
    urgency: 'work hours',
  },
  stale: {
    headline: 'HR was not read',
    consequence: 'Whoever left since then stays employed on the platform.',
    // Only the identity system can send what is missing of a connection that is pushed.
    page: (alert) => (isPushed(alert) ? aboutConnection('/runs')(alert) : syncPage(alert)),
    command: ofConnection('runs'),
    urgency: 'page',
  },
  paused: {
    headline: 'is still paused',
    consequence: 'HR is not read until the pause ends, so whoever leaves meanwhile stays employed on the platform.',
    page: ({ connection }) => `/schedules/${encodeURIComponent(connection)}/pause/end`,
    command: ({ connection }) => `rollcall resume ${connection}`,
    urgency: 'work hours',
  },
  hr_mail: {
    headline: 'HR gets no mail',
    consequence: 'HR does not learn what it has to correct, so the faults stay in its lists.',
    byCode: {
      weekly: {
        headline: 'the weekly summary is not mailed',
        consequence: 'The weekly summary does not arrive. All other alerts are sent as usual.',
      },
    },
    page: ({ code }) => (code === 'weekly' ? '/settings' : '/problems/hr'),
    command: () => 'rollcall check',
    urgency: 'work hours',
  },
  settings_differ: {
    headline: 'processes have different settings',
    consequence: 'The same export is judged differently, depending on which process reads it.',
    page: () => '/settings',
    command: () => 'rollcall status',
    urgency: 'work hours',
  },
}

/** What is wrong and what follows, by the kind of an alert and its code. */
export function textsOf({ kind, code }: Pick<Alert, 'kind' | 'code'>): AlertTexts {
  const texts = alertKinds[kind]
  return (code === null ? undefined : texts.byCode?.[code]) ?? texts
}

function aboutConnection(path: string, part = ''): KindTexts['page'] {
  return ({ connection }) => `${path}?${new URLSearchParams({ connection })}${part}`
}

function runPage(alert: LinkedAlert): string {
  return alert.runId === null ? aboutConnection('/runs')(alert) : `/runs/${alert.runId}`
}

function decisionPage(alert: LinkedAlert): string {
  return alert.runId === null ? aboutConnection('/runs')(alert) : `/runs/${alert.runId}/decision`
}

function syncPage({ connection }: LinkedAlert): string {
  return `/connections/${encodeURIComponent(connection)}/sync`
}

function isPushed({ code }: LinkedAlert): boolean {
  return code === 'not_pushed' || code === 'no_token'
}

function ofRun(alert: LinkedAlert): string {
  return alert.runId === null ? ofConnection('runs')(alert) : `rollcall run ${alert.runId}`
}

function ofConnection(command: string): KindTexts['command'] {
  return ({ connection }) => `rollcall ${command} --connection ${connection}`
}
