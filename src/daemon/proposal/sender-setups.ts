/** What an administrator sets up in an identity system, so that it pushes to a connection. */
export type SenderSetup = { readonly sender: string; readonly steps: readonly string[] }

/** The setup of the identity systems that most companies have. `address`: of the connection, such as https://rollcall.acme.example/scim/v2/hr. */
export function senderSetups(address: string): readonly SenderSetup[] {
  return [
    {
      sender: 'Okta',
      steps: [
        `SCIM connector base URL: ${address}`,
        'Unique identifier field for users: userName',
        'Authentication mode: HTTP Header, with the token',
        'Provisioning to App: turn on create, update and deactivate',
      ],
    },
    {
      sender: 'Microsoft Entra',
      steps: [
        `Tenant URL: ${address}`,
        'Secret token: the token',
        'Attribute mapping: externalId from employeeId instead of mailNickname, and match by userName',
      ],
    },
  ]
}
