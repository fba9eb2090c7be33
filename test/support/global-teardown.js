/** Ends what the setup started. */
export default async function stop() {
  await globalThis.embeddedMongodb?.stop();
}
