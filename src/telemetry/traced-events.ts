import type { Events } from './events.ts'
import { currentTrace, type SpanAttributes, type Traces, traceIdOf } from './traces.ts'

/** Events that carry the ID of their trace, and that record requests, holds and rejections of a run in its trace. */
export function withTraces(events: Events, traces: Traces): Events {
  if (!traces.isOn) return events
  const traced = Object.entries(events).map(([name, emit]) => [name, withTraceId(emit as (fields: object) => void)])
  const all = Object.fromEntries(traced) as Events
  const addEvent = (
    name: string,
    { runId, connection }: { runId: string; connection: string },
    attributes: SpanAttributes = {},
  ) => traces.addEvent(runId, name, { 'rollcall.connection': connection, ...attributes })
  return {
    ...all,
    runRequested(fields) {
      addEvent('run requested', fields, { 'rollcall.trigger': fields.trigger })
      all.runRequested(fields)
    },
    runHeld(fields) {
      addEvent('run held', fields)
      all.runHeld(fields)
    },
    runRejected(fields) {
      addEvent('run rejected', fields)
      all.runRejected(fields)
    },
  }
}

function withTraceId(emit: (fields: object) => void): (fields: object) => void {
  return (fields) => {
    const traceId = 'runId' in fields && typeof fields.runId === 'string' ? traceIdOf(fields.runId) : currentTrace()
    emit(traceId === null ? fields : { ...fields, traceId })
  }
}
