/** Sign-in of people by an identity provider: where it is, and the exchange of codes for tokens. */
export { createSignIn } from './sign-in.ts'
