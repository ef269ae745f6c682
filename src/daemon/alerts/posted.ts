import type { Alert } from '../../store/alerts/alerts.ts'
import type { Message } from '../config/channel.ts'
import type { NoticeText } from './text.ts'

/** What a request to a receiver is made from. */
export type Content = NoticeText & {
  readonly notice: Message
  /** Null in a test and in a message about several alerts. */
  readonly alert: Alert | null
  /** The key of the receiver; empty if its address is the secret. */
  readonly key: string
}

/** One request to a receiver. */
export type PostedRequest = {
  /** What is appended to the address of the channel. */
  readonly path: string
  readonly body: object
  /** Default: POST. */
  readonly method?: 'PUT'
  /** Answer 404 counts as taken: what is to be ended is not there. */
  readonly acceptsMissing?: boolean
}

/** What a receiver answered. Only our own words about it reach a log. */
export type Answer = {
  readonly status: number
  /** The first bytes of the body. */
  readonly text: string
}
