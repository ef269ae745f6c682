import { platformPrefix } from '../../contract/platform/platform.ts'
import { unimplementedOperations } from '../../contract/platform/unimplemented-operations.ts'
import { type Refusal, refuse } from '../../http/refusal.ts'

const patterns = Object.entries(unimplementedOperations).map(([operation, name]) => {
  const [method, path = ''] = operation.split(' ')
  return { method, name, path: new RegExp(`^${platformPrefix}${path.replaceAll(/\{\w+\}/g, '[^/]+')}$`) }
})

/** A better refusal than 404 for an operation of the published contract that is not implemented, or for another version; else null. */
export function refusalOfUnknown({ method, url }: { readonly method: string; readonly url: string }): Refusal | null {
  const [path = ''] = url.split('?', 1)
  const requestedMethod = method === 'HEAD' ? 'GET' : method
  const unimplemented = patterns.find((pattern) => pattern.method === requestedMethod && pattern.path.test(path))
  if (unimplemented) {
    return refuse(
      'NotImplemented',
      `"${unimplemented.name}" is an operation of the contract that this platform does not serve`,
    )
  }
  const isOtherVersion =
    /^\/public(?:\/|$)/.test(path) && !path.startsWith(`${platformPrefix}/`) && path !== platformPrefix
  return isOtherVersion
    ? refuse('UnknownPath', `this platform serves only version 2 of the API, below ${platformPrefix}`)
    : null
}
