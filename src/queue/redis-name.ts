import { Failure } from '../errors.ts'

/** The name of a Redis for messages: its address without user name and password. */
export function redisName(url: string): string {
  const address = URL.parse(url)
  if (address === null || !['redis:', 'rediss:'].includes(address.protocol) || address.hostname === '') {
    throw new Failure('config_invalid', 'The address of the queue is not one of Redis: write redis://host:port')
  }
  return `Redis at ${address.hostname}:${address.port || '6379'}`
}
