/** The credentials that every system of the tests accepts. None of them is secret. */
export const credentials = {
  company: 'acme',
  user: 'rollcall',
  password: 'password-of-rollcall',
  apiKey: 'api-key-of-rollcall',
  token: 'token-of-rollcall',
  secondKey: 'second-key-of-rollcall',
  clientId: 'client-of-rollcall',
  clientSecret: 'secret-of-rollcall',
  refreshToken: 'refresh-token-of-rollcall',
} as const
