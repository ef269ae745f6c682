import { styleText } from 'node:util'

const colours = { error: 'red', warn: 'yellow', info: 'green', debug: 'gray' } as const

type Entry = { readonly level: string; readonly time: string; readonly msg: string; readonly [field: string]: unknown }

/** One logged JSON line as people like to read it: time, level, message, then the fields. */
export function prettyLine(json: string): string {
  const { level, time, msg, event: _event, error, ...fields }: Entry = JSON.parse(json)
  const details = Object.entries(fields).map(([name, value]) => styleText('dim', `${name}=`) + shown(value))
  const head = [styleText('dim', time.slice(11, 19)), coloured(level), msg, ...details].join(' ')
  return `${head}\n${error === undefined ? '' : `${JSON.stringify(error, undefined, 2).replaceAll('\\n', '\n      ')}\n`}`
}

function coloured(level: string): string {
  const colour = Object.entries(colours).find(([name]) => name === level)?.[1] ?? 'white'
  return styleText(colour, level.padEnd(5))
}

function shown(value: unknown): string {
  return typeof value === 'string' && !/\s/.test(value) ? value : JSON.stringify(value)
}
