import type { Alert } from '../../store/alerts/alerts.ts'

type Linked = Pick<Alert, 'id' | 'connection' | 'kind' | 'runId'>

/** The address of a page about an alert, or with null about all alerts; null if none is known. */
export type AlertLink = (alert: Linked | null) => string | null

type LinkSettings = {
  /** `alerts.link`. */
  readonly link: string | null
  /** `server.publicUrl`, where the console is. */
  readonly consoleUrl: URL | null
}

/** Links by the template `alerts.link`. Without one, or if the alert lacks a value for its path, links to the console's page for the alert. */
export function alertLinks({ link, consoleUrl }: LinkSettings): AlertLink {
  return (alert) =>
    (link === null ? null : filledLink(link, alert)) ?? (consoleUrl && new URL(pageOf(alert), consoleUrl).href)
}

/** Null if a value for the path is missing. Missing values of a query stay empty. */
function filledLink(template: string, alert: Linked | null): string | null {
  const values: Readonly<Record<string, string | null | undefined>> = {
    connection: alert?.connection,
    kind: alert?.kind,
    run: alert?.runId,
    alert: alert?.id,
  }
  const [path = ''] = template.split(/[?#]/)
  const isPathKnown = path.matchAll(/\{(\w+)\}/g).every(([, name = '']) => (values[name] ?? '') !== '')
  if (alert !== null && !isPathKnown) return null
  const filled = template.replaceAll(/\{(\w+)\}/g, (_whole, name: string) => encodeURIComponent(values[name] ?? ''))
  return URL.parse(filled)?.href ?? null
}

/** The page on which an operator can act on the alert. */
function pageOf(alert: Linked | null): string {
  if (alert === null) return '/'
  const { connection, kind, runId } = alert
  const about = `?${new URLSearchParams({ connection })}`
  switch (kind) {
    case 'held':
    case 'expiring':
      return runId === null ? `/runs${about}` : `/runs/${runId}/decision`
    case 'run_failed':
    case 'repeated':
      return runId === null ? `/runs${about}` : `/runs/${runId}`
    case 'stale':
      return `/runs${about}`
    case 'problems':
    case 'blockedPeople':
    case 'foreign':
    case 'overdue':
    case 'leaver_late':
      return `/problems${about}`
    case 'emergency':
    case 'stated_departures':
      return `/problems${about}#stated`
    case 'unaccounted':
      return `/connections/${encodeURIComponent(connection)}/statement`
    case 'not_effective':
    case 'directory':
      return `/effective${about}`
    case 'hr_mail':
      return '/problems/hr'
    case 'paused':
      return '/schedules'
    case 'blocked':
    case 'settings_differ':
      return '/'
    default:
      return kind satisfies never
  }
}
