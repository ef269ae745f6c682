import { alertKinds, type LinkedAlert } from './kinds.ts'

/** The address of a page about an alert, or with null about all alerts; null if none is known. */
export type AlertLink = (alert: LinkedAlert | null) => string | null

type LinkSettings = {
  /** `alerts.link`. */
  readonly link: string | null
  /** `server.publicUrl`, where the console is. */
  readonly consoleUrl: URL | null
}

/** Links by the template `alerts.link`. Without one, or if the alert lacks a value for its path, links to the console's page for the alert. */
export function alertLinks({ link, consoleUrl }: LinkSettings): AlertLink {
  return (alert) => {
    const page = alert === null ? '/' : alertKinds[alert.kind].page(alert)
    return (link === null ? null : filledLink(link, alert)) ?? (consoleUrl && new URL(page, consoleUrl).href)
  }
}

/** Null if a value for the path is missing. Missing values of a query stay empty. */
function filledLink(template: string, alert: LinkedAlert | null): string | null {
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
