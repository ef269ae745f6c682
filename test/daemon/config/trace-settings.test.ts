import { describe, expect, test } from 'vitest'
import { loadConfig } from '../../../src/daemon/config/load-config.ts'
import { exportFolder } from '../../helpers/sources/exports.ts'

/** The traces of a configuration that has these lines, or why it is refused. */
async function tracesOf(lines: string, env: NodeJS.ProcessEnv = {}) {
  await using folder = await exportFolder()
  await folder.write('key', 'a secret of the collector')
  const text = `platform: { apiKey: '\${env:KEY}' }
traces: ${lines}
connections:
  acme:
    target: { name: Acme HRIS }
    source: { type: csv, path: people.csv, mode: snapshot, preset: generic, timeZone: UTC }
`
  const config = await loadConfig(await folder.write('rollcall.yaml', text), { KEY: 'a key', ...env })
  const { headers = new Map(), ...traces } = config.traces ?? {}
  const sent = [...headers].map(async ([name, secret]) => [name, await secret.read()])
  return { ...traces, headers: Object.fromEntries(await Promise.all(sent)), isOn: config.traces !== null }
}

describe('traces', () => {
  test('are off unless there is an endpoint, which may come from the variable that other programs use', async () => {
    const endpoint = "{ endpoint: '${env:OTEL_EXPORTER_OTLP_ENDPOINT:-}' }"

    const [off, on] = [
      await tracesOf(endpoint),
      await tracesOf(endpoint, { OTEL_EXPORTER_OTLP_ENDPOINT: 'http://collector:4318' }),
    ]

    expect(off.isOn).toBe(false)
    expect(on).toEqual({
      isOn: true,
      endpoint: 'http://collector:4318',
      sampleRatio: 1,
      serviceName: 'rollcall',
      headers: {},
    })
  })

  test('take headers from files', async () => {
    const traces = await tracesOf("{ endpoint: 'https://collector', headers: { x-key: '${file:key}' } }")

    expect(traces.headers).toEqual({ 'x-key': 'a secret of the collector' })
  })

  test.each([
    ["{ endpoint: 'https://collector', headers: { x-key: plain } }", 'a secret stands in the configuration'],
    ["{ endpoint: 'http://collector', headers: { x-key: '${file:key}' } }", 'http:// is not encrypted'],
    ["{ endpoint: 'http://127.0.0.1:4318/v1/traces' }", 'leave that out'],
    ["{ endpoint: 'collector:4318' }", 'expected an address that begins with https:// or http://'],
    ["{ endpoint: 'https://me:secret@collector' }", 'takes no user name, no password and no parameters'],
    ["{ endpoint: 'https://collector', sampleRatio: 2 }", 'traces.sampleRatio'],
  ])('%s is refused: %s', async (lines, message) => {
    await expect(tracesOf(lines)).rejects.toThrow(message)
  })
})
