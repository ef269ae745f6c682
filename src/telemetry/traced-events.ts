import type { Events } from './events.ts'
import { currentTrace, type SpanAttributes, type Traces, traceIdOf } from './traces.ts'

/** Events that name the trace they belong to, and mark in a run's trace what happens to the run apart from the work on it. */
export function withTraces(events: Events, traces: Traces): Events {
  if (!traces.isOn) return events
  const named = Object.entries(events).map(([name, tell]) => [name, naming(tell as (fields: object) => void)])
  const all = Object.fromEntries(named) as Events
  const mark = (
    name: string,
    { runId, connection }: { runId: string; connection: string },
    facts: SpanAttributes = {},
  ) => traces.addEvent(runId, name, { 'rollcall.connection': connection, ...facts })
  return {
    ...all,
    runRequested(fields) {
      mark('run requested', fields, { 'rollcall.trigger': fields.trigger })
      all.runRequested(fields)
    },
    runHeld(fields) {
      mark('run held', fields)
      all.runHeld(fields)
    },
    runRejected(fields) {
      mark('run rejected', fields)
      all.runRejected(fields)
    },
  }
}

function naming(tell: (fields: object) => void): (fields: object) => void {
  return (fields) => {
    const traceId = 'runId' in fields && typeof fields.runId === 'string' ? traceIdOf(fields.runId) : currentTrace()
    tell(traceId === null ? fields : { ...fields, traceId })
  }
}
