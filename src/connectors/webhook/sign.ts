import { Failure } from '../../errors.ts'
import { webhookKey } from './keys.ts'
import { signedIdProblem, type WebhookRecipe } from './recipe.ts'
import { encodeSignature, signatureBytes, signedContent } from './signature.ts'
import { writeTime } from './times.ts'

type WebhookToSign = {
  readonly recipe: WebhookRecipe
  readonly secret: string
  /** The id of the event, for senders that send it in a header. */
  readonly id: string
  readonly body: Uint8Array
  readonly now: Date
}

/** The headers with which the sender of a recipe would send a body. Throws if the secret is a public key, because then only the sender can sign. */
export function signWebhook({ recipe, secret, id, body, now }: WebhookToSign): Record<string, string> {
  const { signature, timestamp } = recipe
  const key = webhookKey(recipe, secret)
  if (key.algorithm === 'ed25519' && key.key.type === 'public') {
    const problem = 'the secret of this webhook is a public key: only the sender can sign'
    throw new Failure('usage', `${problem}; have the sender send a test event`)
  }
  if (key.algorithm === 'token') return { [signature.header]: `${key.prefix}${key.token.toString('latin1')}` }

  const idHeader = recipe.id && 'header' in recipe.id ? recipe.id.header : null
  const problem = idHeader === null ? null : signedIdProblem(id, recipe.signed)
  if (problem !== null) throw new Failure('usage', `the id of the event ${problem}`)
  const time = timestamp ? writeTime(now, timestamp.unit) : null
  const content = signedContent(recipe, { id, timestamp: time, body })
  const written = `${key.prefix}${encodeSignature(signatureBytes(key, content), signature.encoding)}`
  const pairs = [
    ...(time !== null && timestamp?.pair ? [`${timestamp.pair}=${time}`] : []),
    `${signature.pair}=${written}`,
  ]
  return {
    ...(idHeader === null ? {} : { [idHeader]: id }),
    ...(time !== null && timestamp?.header ? { [timestamp.header]: time } : {}),
    [signature.header]: signature.pair === undefined ? written : pairs.join(signature.separator ?? ','),
  }
}
